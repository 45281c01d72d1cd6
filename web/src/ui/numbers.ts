/** Numbers in units and at a scale for people. */

/** Creating one takes longer than using it a hundred times. */
const counts = new Intl.NumberFormat('en')
const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const stamps = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const fullStamps = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'medium' })

export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const step = bytes < 1000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3))
  return `${digits(bytes / 1000 ** step)} ${units[step]}`
}

export function formatMs(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 60) return `${digits(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export function formatRate(tokensPerSecond: number): string {
  return `${digits(tokensPerSecond)} tok/s`
}

export function formatCount(count: number): string {
  return counts.format(count)
}

export function plural(count: number, word: string): string {
  return `${formatCount(count)} ${word}${count === 1 ? '' : 's'}`
}

/** Relative under an hour, else local. */
export function formatTime(atMs: number, nowMs: number): string {
  const seconds = Math.round((nowMs - atMs) / 1000)
  if (seconds < 5) return 'now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  const at = new Date(atMs)
  const isToday = at.toDateString() === new Date(nowMs).toDateString()
  return stampOf(at, isToday ? hours : stamps)
}

/** The full date and time, as a tooltip. */
export function fullTime(atMs: number): string {
  return stampOf(new Date(atMs), fullStamps)
}

/** Empty for a time that no `Date` can have: one invalid time must not break the view that shows it. */
function stampOf(at: Date, format: Intl.DateTimeFormat): string {
  return Number.isNaN(at.getTime()) ? '' : format.format(at)
}

/** Three significant digits. */
function digits(value: number): string {
  if (value >= 100 || Number.isInteger(value)) return counts.format(Math.round(value))
  return value >= 10 ? value.toFixed(1).replace(/\.0$/, '') : value.toFixed(2).replace(/\.?0+$/, '')
}
