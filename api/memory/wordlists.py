"""Words that memory treats in their own way when it compares and searches, of several languages."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# They tell no fact from another when one is searched.
COMMON = _words(
    """
about all also and any are been being but can could did does for from had has have here how into its
just know may might more most much must not one our out please shall should some tell than that the
their them then there they this very was were what when where which who why will with would you your
"""
)
# They change how a statement sounds and not what it says: "the user", articles, "I", "is". Never those that
# turn it round.
FILLERS = _words(
    """
a al also always am an and anwender anwenderin are as at be been being benutzer benutzerin bin by
can could d das de dem den der des did do does du een ein eine einen einer el elle en es est et eu
for from gebruiker generally gli had has have he her here het his i ich ik il im in io is ist it its
j je just l la las le les like liked likes ll lo los m ma may me mein meine mes meu mi mia mich mijn
mine minha mio mir mis mon much my myself nutzer nutzerin o of on or os our over please que quite re
really remember s se shall she should sind so son sono sont sou soy suis than that the their there
these they this those to too um uma un una und une us user users usually usuaria usuario usuária
usuário utente utilisateur utilisatrice ve very want wanted wants was we were which who will with
would y yo you your è é が です は を ザ ユ ー 我 我的 戶 户 是 用 的 私
"""
)
# They turn a statement round; as `stems` gives them.
TURNS_ROUND = _words(
    """
anymor aren aucun aucune avoid barely beside cannot didn dislik doesn don except former formerly
geen hardly hat isn jamai jamás kaum kein keine keinen keiner n nada ne nem nessun never nicht nie
niemal niente niet ninguna ningún no non nooit nor not nunca não ohn pas plus quit rarely rien sans
scarcely seldom sem senza sin stop stopp t tampoco unl weder without won zonder 不 别 无 沒 没 無 非
"""
)
# They shift a statement into the past, or make it a wish.
PAST = _words(
    """
avait did era formerly fue had hatte previously tenía used war waren was were était
"""
)
WISH = _words(
    """
hope hopes möchte plan plans quiere shall voudrait want wanted wants will wish wishes would
"""
)
