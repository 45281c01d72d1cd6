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
const zone = `(?:Z|[+-]${clock})`
const time = `${clock}:[0-5]\\d(?:\\.\\d{1,9})?${zone}`
const localTime = `${time}?`

const count = '\\d{1,6}'
const days = `${count}D`
const months = `${count}M(?:${days})?`
const dates = `(?:${days}|${months}|${count}Y(?:${months})?)`
const seconds = `${count}S`
const minutes = `${count}M(?:${seconds})?`
const times = `T(?:${seconds}|${minutes}|${count}H(?:${minutes})?)`

// At most six labels: a name has at most 253 characters.
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?'
const hostname = `${label}(?:\\.${label}){0,5}`
const atomChars = "A-Za-z0-9!#$%&'*+/=?^_`{|}~"
const email = `${localPart(`[${atomChars}-]`)}@${label}(?:\\.${label}){1,4}`
/** Characters beyond ASCII in international names and addresses (RFC 3987). */
const wide = '\\u00a1-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef'
const wideLabel = `[A-Za-z0-9${wide}](?:[A-Za-z0-9${wide}-]{0,38}[A-Za-z0-9${wide}])?`
const wideEmail = `${localPart(`[${atomChars}${wide}-]`)}@${wideLabel}(?:\\.${wideLabel}){1,4}`

/** Up to five words with dots between them, of at most 64 characters together. */
function localPart(char: string): string {
  const words = (dots: number, most: number) => `${char}{1,${most}}${dots === 0 ? '' : `(?:\\.${char}{1,${most}}){${dots}}`}`
  return `(?:${[words(0, 64), words(1, 31), words(2, 20), words(3, 15), words(4, 12)].join('|')})`
}

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4 = `${octet}(?:\\.${octet}){3}`
const group = '[0-9A-Fa-f]{1,4}'
const ipv6 = [
  `(?:${group}:){7}${group}`,
  `(?:${group}:){6}${ipv4}`,
  ...[0, 1, 2, 3, 4, 5, 6, 7].map((left) => {
    const before = left === 0 ? ':' : `(?:${group}:){${left}}`
    const groups = left < 7 ? `(?:${group}(?::${group}){0,${6 - left}})?` : ''
    const address = left < 6 ? `|${before}:(?:${group}:){0,${5 - left}}${ipv4}` : ''
    return `${before}:${groups}${address}`
  }),
].join('|')

type Addresses = { readonly absolute: string; readonly reference: string }

/** RFC 3986 with an empty path only after a host, and ports of up to five digits. `more`: characters that are allowed besides. */
function addresses(more: string): Addresses {
  const plain = `[A-Za-z0-9._~!$&'()*+,;=${more}-]|%[0-9A-Fa-f]{2}`
  const pathChar = `(?:${plain}|[:@])`
  const path = `(?:/${pathChar}*)*`
  const authority = `//(?:(?:${plain}|:)*@)?(?:\\[(?:${ipv6})\\]|(?:${plain})*)(?::\\d{0,5})?${path}`
  const rooted = `/(?:${pathChar}+${path})?`
  const tail = `(?:\\?(?:${pathChar}|[/?])*)?(?:#(?:${pathChar}|[/?])*)?`
  return {
    absolute: `[A-Za-z][A-Za-z0-9+.-]{0,30}:(?:${authority}|${rooted}|${pathChar}+${path})${tail}`,
    // Before a colon, a relative path would be a scheme.
    reference: `(?:${authority}|${rooted}|(?:${plain}|@)+${path})?${tail}`,
  }
}

const uri = addresses('')
const iri = addresses(wide)
const urlChar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
const word = '[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){0,2}'
const url = `https?://${word}(?:\\.${word}){0,3}\\.[a-z]{2,6}(?::\\d{2,5})?(?:/(?:${urlChar}|/)*(?:\\?(?:${urlChar}|[/?])*)?(?:#(?:${urlChar}|[/?])*)?)?`

const variable = '[A-Za-z0-9_]{1,32}(?::[1-9]\\d{0,3}|\\*)?'
const expression = `\\{[+#./;?&]?${variable}(?:,${variable}){0,9}\\}`
const template = `(?:[A-Za-z0-9._~:/?#\\[\\]@!$&()*+,;=-]|%[0-9A-Fa-f]{2}|${expression})*`
const pointer = '(?:/(?:[^~/]|~[01])*)*'

const patterns: Readonly<Record<string, string>> = {
  date,
  time,
  'date-time': `${date}T${time}`,
  'iso-time': localTime,
  'iso-date-time': `${date}T${localTime}`,
  duration: `P(?:${dates}(?:${times})?|${times}|${count}W)`,
  email,
  'idn-email': wideEmail,
  hostname,
  'idn-hostname': `${wideLabel}(?:\\.${wideLabel}){0,5}`,
  ipv4,
  ipv6,
  uri: uri.absolute,
  iri: iri.absolute,
  url,
  'uri-reference': `(?:${uri.absolute}|${uri.reference})`,
  'iri-reference': `(?:${iri.absolute}|${iri.reference})`,
  'uri-template': template,
  uuid: '[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}',
  'json-pointer': pointer,
  'json-pointer-uri-fragment': `#(?:/(?:[A-Za-z0-9_.!$&'()*+,;:=@-]|%[0-9A-Fa-f]{2}|~[01])*)*`,
  'relative-json-pointer': `(?:0|[1-9]\\d{0,8})(?:#|${pointer})`,
  byte: '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?',
}
