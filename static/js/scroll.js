/** Keeps the end of the transcript in sight as long as the reader is there, and never else. */

const NEAR_PX = 40;

export function createScroll(scroller, content, jump) {
  let isFollowing = true;
  let lastTop = 0;

  scroller.addEventListener("scroll", () => {
    const isUp = scroller.scrollTop < lastTop - 1;
    lastTop = scroller.scrollTop;
    if (isAtEnd()) isFollowing = true;
    else if (isUp) isFollowing = false;
    showJump();
  }, { passive: true });
  scroller.addEventListener("wheel", (event) => {
    if (event.deltaY < 0 && scroller.scrollHeight > scroller.clientHeight) isFollowing = false;
  }, { passive: true });
  jump.addEventListener("click", () => {
    toEnd();
    scroller.focus({ preventScroll: true });
  });
  const watcher = new ResizeObserver(settle);
  watcher.observe(scroller);
  watcher.observe(content);

  /** After a change of the content: go along, unless the reader is elsewhere or marks text. */
  function settle() {
    if (isFollowing && !isMarking(content)) scroller.scrollTop = scroller.scrollHeight;
    lastTop = scroller.scrollTop;
    showJump();
  }

  function toEnd() {
    isFollowing = true;
    scroller.scrollTop = scroller.scrollHeight;
    settle();
  }

  /** Show an element in the middle, and stay there. */
  function toElement(element) {
    isFollowing = false;
    element.scrollIntoView({ block: "center" });
    element.focus({ preventScroll: true });
    settle();
  }

  /** Run a change that adds above, with what is read staying in its place. */
  function keepPlace(change) {
    const fromEnd = scroller.scrollHeight - scroller.scrollTop;
    change();
    scroller.scrollTop = scroller.scrollHeight - fromEnd;
  }

  function isAtEnd() {
    return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight <= NEAR_PX;
  }

  function showJump() {
    jump.hidden = isAtEnd();
  }

  return { settle, toEnd, toElement, keepPlace };
}

function isMarking(content) {
  const selection = document.getSelection();
  return selection !== null && !selection.isCollapsed && content.contains(selection.anchorNode);
}
