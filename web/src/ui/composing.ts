/**
 * Whether a key belongs to an input method. Safari ends a composition before it reports the Enter that ended it, which still has the
 * code of keys that an input method has taken.
 */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229
}
