/** An object of unknown origin. */
export type Members = Record<string, unknown>

export function withoutNulls(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}
