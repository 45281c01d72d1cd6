/** A `format` as a pattern, or as an annotation without a condition. */
type FormatRule = { readonly type: 'pattern'; readonly source: string } | { readonly type: 'annotation' }

/**
 * The rule of a format; undefined for an unknown one. Each pattern is within what the standards and common validators accept,
 * and narrower where more would be useless (leap seconds, quoted local parts, addresses in brackets) or endless.
 */
export function formatRule(name: string): FormatRule | undefined {
  const source = Object.hasOwn(patterns, name) ? patterns[name] : undefined
  if (source !== undefined) return { type: 'pattern', source: `^(?:${source})$` }
  return annotations.has(name) ? { type: 'annotation' } : undefined
}

/** Hints of OpenAPI about storage, which restrict no string. */
const annotations: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double', 'password', 'binary'])

const leapYear = '(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)'
const dayOfMonth = '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))'
const date = `(?:\\d{4}-${dayOfMonth}|${leapYear}-02-29)`
const clock = '(?:[01]\\d|2[0-3]):[0-5]\\d'
const time = `${clock}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${clock})`

const count = '\\d{1,6}'
const days = `${count}D`
const months = `${count}M(?:${days})?`
const dates = `(?:${days}|${months}|${count}Y(?:${months})?)`
const seconds = `${count}S`
const minutes = `${count}M(?:${seconds})?`
const times = `T(?:${seconds}|${minutes}|${count}H(?:${minutes})?)`

const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?'
const word = '[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){0,2}'
const hostname = `${label}(?:\\.${label}){0,5}`
const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
const email = `${atom}{1,32}(?:\\.${atom}{1,31})?@${label}(?:\\.${label}){1,4}`

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4 = `${octet}(?:\\.${octet}){3}`
const group = '[0-9A-Fa-f]{1,4}'
const ipv6 = [
  `(?:${group}:){7}${group}`,
  ...[0, 1, 2, 3, 4, 5, 6].map((left) => {
    const before = left === 0 ? ':' : `(?:${group}:){${left}}`
    return `${before}:(?:${group}(?::${group}){0,${6 - left}})?`
  }),
  `::(?:ffff:)?${ipv4}`,
].join('|')

const pathChar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
const firstChar = "(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})"
const path = `(?:/${pathChar}*)*`
const authority = `//${hostname}(?::\\d{1,4})?${path}`
const tail = `(?:\\?(?:${pathChar}|[/?])*)?(?:#(?:${pathChar}|[/?])*)?`
const uri = `[A-Za-z][A-Za-z0-9+.-]{1,15}:(?:${authority}|${pathChar}+${path})${tail}`
const reference = `(?:${authority}|/(?:${pathChar}+${path})?|${firstChar}+${path})?${tail}`
const template = `(?:[A-Za-z0-9._~/:@-]|\\{[A-Za-z0-9_]{1,32}\\})*`
const pointer = '(?:/(?:[^~/]|~[01])*)*'

const patterns: Readonly<Record<string, string>> = {
  date,
  time,
  'date-time': `${date}T${time}`,
  'iso-time': time,
  'iso-date-time': `${date}T${time}`,
  duration: `P(?:${dates}(?:${times})?|${times}|${count}W)`,
  email,
  'idn-email': email,
  hostname,
  'idn-hostname': hostname,
  ipv4,
  ipv6,
  uri,
  iri: uri,
  url: `https?://${word}(?:\\.${word}){0,3}\\.[a-z]{2,6}(?:/[A-Za-z0-9._~-]*)*`,
  'uri-reference': reference,
  'iri-reference': reference,
  'uri-template': template,
  uuid: '[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}',
  'json-pointer': pointer,
  'json-pointer-uri-fragment': `#(?:/(?:[A-Za-z0-9_.!$&'()*+,;:=@-]|~[01])*)*`,
  'relative-json-pointer': `(?:0|[1-9]\\d{0,8})(?:#|${pointer})`,
  byte: '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?',
}
