"""Who may ask: the access token, the password and its logins, codes and tickets."""
