/**
 * Whether a key belongs to an input method. Safari ends a composition before it reports the Enter that ended it, which then still has the
 * key code of an input method.
 */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229
}
