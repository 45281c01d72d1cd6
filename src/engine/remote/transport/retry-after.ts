const dayMs = 86_400_000

/**
 * The value of a Retry-After header in milliseconds from now: seconds, or an HTTP date. Undefined for anything else; at most a
 * day, which bounds the effect of a wrong value.
 */
export function parseRetryAfter(value: string, epochMs: number): number | undefined {
  const text = value.trim()
  // Fractions are not in the standard, but some servers send them.
  if (/^[0-9]+(\.[0-9]+)?$/.test(text)) return Math.min(dayMs, Math.ceil(Number(text) * 1000))
  // All three forms of an HTTP date begin with the name of a day; the oldest leaves out GMT.
  if (!/^(mon|tue|wed|thu|fri|sat|sun)/i.test(text)) return undefined
  const atMs = Date.parse(/gmt$/i.test(text) ? text : `${text} GMT`)
  return Number.isNaN(atMs) ? undefined : Math.min(dayMs, Math.max(0, atMs - epochMs))
}
