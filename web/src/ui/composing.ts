/**
 * Whether a key belongs to an input method. Safari ends a composition before it reports the Enter that ended it, which then still has the
 * key code of an input method.
 */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229
}

/** Whether a key sends what is written: Enter; with Ctrl or Cmd where a screen keyboard has no other way to a new line. */
export function isSending(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || isComposing(event)) return false
  return matchMedia('(pointer: coarse)').matches ? event.ctrlKey || event.metaKey : !event.shiftKey
}
