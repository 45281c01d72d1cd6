import { bindArguments, type CallArguments } from '../values/arguments.ts'
import { spendCharacters, spendItems, spendRead, spendSearch, spendText } from '../values/budget.ts'
import { asInteger, isTrue, refuseUndefined } from '../values/coerce.ts'
import { convertText, convertWords, plainText } from '../values/foreign-text.ts'
import { collect } from '../values/iterate.ts'
import { runtimeError } from '../values/jinja-error.ts'
import { capitalize, every, isLower, isUpper, titleCase } from '../values/letter-case.ts'
import { joinTexts } from '../values/print.ts'
import { characters, countCharacters, isSpace, sliceText, splitLines, trimText } from '../values/text.ts'
import { isA, tuple, typeName, type Value } from '../values/value.ts'

type Method = (text: string, call: CallArguments) => Value

/** The methods of Python's `str`; `format` is in attributes.ts. */
export const stringMethods: ReadonlyMap<string, Method> = new Map<string, Method>(
  Object.entries({
    capitalize,
    center: (text, call) => justify('center', text, call),
    count: (text, call) => countIn(text, call),
    endswith: (text, call) => affix('endswith', text, call),
    find: (text, call) => search('find', text, call),
    index: (text, call) => found(search('index', text, call)),
    isalnum: reading((text) => every(text, /[\p{L}\p{N}]/u)),
    isalpha: reading((text) => every(text, /\p{L}/u)),
    isascii: reading((text) => !/[^\0-\x7f]/.test(text)),
    isdecimal: reading((text) => every(text, /\p{Nd}/u)),
    isdigit: reading((text) => every(text, /[\p{Nd}²³¹⁰-⁹₀-₉]/u)),
    isidentifier: reading((text) => /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Nd}\p{Mn}\p{Mc}\p{Pc}]*$/u.test(text)),
    islower: reading(isLower),
    isnumeric: reading((text) => every(text, /\p{N}/u)),
    isprintable: reading((text) => !/[\p{C}\p{Z}]/u.test(text.replaceAll(' ', ''))),
    isspace: reading((text) => text !== '' && trimText(text, { start: true }) === ''),
    istitle: reading((text) => /[\p{Lu}\p{Lt}]/u.test(text) && text === titleCase(text)),
    isupper: reading(isUpper),
    join: (text, call) => joinMethod(text, call),
    ljust: (text, call) => justify('ljust', text, call),
    lower: (text) => convertText(text, (plain) => plain.toLowerCase()),
    lstrip: (text, call) => stripMethod('lstrip', text, call),
    partition: (text, call) => partition('partition', text, call),
    removeprefix: (text, call) => removeAffix('removeprefix', text, call),
    removesuffix: (text, call) => removeAffix('removesuffix', text, call),
    replace: (text, call) => replaceMethod(text, call),
    rfind: (text, call) => search('rfind', text, call),
    rindex: (text, call) => found(search('rindex', text, call)),
    rjust: (text, call) => justify('rjust', text, call),
    rpartition: (text, call) => partition('rpartition', text, call),
    rsplit: (text, call) => splitMethod('rsplit', text, call),
    rstrip: (text, call) => stripMethod('rstrip', text, call),
    split: (text, call) => splitMethod('split', text, call),
    splitlines: (text, call) => {
      const [keepEnds = false] = bindArguments(call, { name: 'splitlines', parameters: ['keepends'] })
      return splitLines(text, isTrue(keepEnds))
    },
    startswith: (text, call) => affix('startswith', text, call),
    strip: (text, call) => stripMethod('strip', text, call),
    title: paying((text) => convertWords(text, titleCase), 8),
    upper: (text) => convertText(text, (plain) => plain.toUpperCase()),
    zfill: (text, call) => zeroFill(text, call),
  } satisfies Record<string, Method>),
)

/** A method that reads the characters one by one; `times` is its cost for each. */
function paying(method: (text: string) => Value, times: number): Method {
  return (text) => {
    spendCharacters(text.length * times)
    return method(text)
  }
}

/** A method that only reads the characters. */
function reading(method: (text: string) => boolean): Method {
  return paying((text) => method(plainText(text)), 1)
}

/** `text.split(separator)`, ignoring the origin of either. */
function splitPlain(text: string, separator: string): string[] {
  const [all, by] = [plainText(text), plainText(separator)]
  const parts: string[] = []
  let from = 0
  spendRead(text.length)
  spendSearch(text.length, by.length)
  for (let at = all.indexOf(by); at !== -1; at = all.indexOf(by, from)) {
    spendItems(1)
    parts.push(text.slice(from, at))
    from = at + by.length
  }
  return [...parts, text.slice(from)]
}

/** Python's `str.replace`; a negative `count` means all. Throws instead of building too long a text. */
export function replaceText(text: string, from: string, { to, count = -1 }: { to: string; count?: number }): string {
  const parts = from === '' ? between(text) : splitPlain(text, from)
  const times = count < 0 ? parts.length - 1 : Math.min(count, parts.length - 1)
  if (times === 0) return text
  spendText(Math.max(text.length, text.length + times * (to.length - from.length)))
  return (
    parts.slice(0, times + 1).join(to) +
    parts
      .slice(times + 1)
      .map((part) => from + part)
      .join('')
  )
}

/** The characters of a text, with an empty text at both ends. */
function between(text: string): string[] {
  spendItems(text.length + 2)
  return ['', ...characters(text), '']
}

/** Python's `str.split`; without a separator it splits at white space and drops empty parts. */
export function splitText(text: string, separator: string | undefined, limit = -1): string[] {
  if (separator === undefined) return splitSpace(text, limit)
  if (separator === '') throw runtimeError('empty separator')
  const parts = splitPlain(text, separator)
  if (limit < 0 || parts.length <= limit + 1) return parts
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)]
}

function splitSpace(text: string, limit: number): string[] {
  spendCharacters(text.length)
  const parts: string[] = []
  let rest = trimText(text, { start: true })
  while (rest !== '') {
    if (limit >= 0 && parts.length === limit) return [...parts, rest]
    let end = 0
    while (end < rest.length && !isSpace(rest.charAt(end))) end += 1
    spendItems(1)
    parts.push(rest.slice(0, end))
    rest = trimText(rest.slice(end), { start: true })
  }
  return parts
}

function splitFromEnd(text: string, separator: string | undefined, limit: number): string[] {
  if (separator === undefined) {
    const reversed = splitSpace(reverseText(text), limit)
    return reversed.map(reverseText).reverse()
  }
  const parts = splitText(text, separator)
  if (limit < 0 || parts.length <= limit + 1) return parts
  const kept = parts.length - limit
  return [parts.slice(0, kept).join(separator), ...parts.slice(kept)]
}

export function reverseText(text: string): string {
  spendItems(text.length)
  return Array.from(text).reverse().join('')
}

function splitMethod(name: 'split' | 'rsplit', text: string, call: CallArguments): Value {
  const [separator, limit] = bindArguments(call, { name, parameters: ['sep', 'maxsplit'] })
  const by = separator === undefined || separator === null ? undefined : textOf(separator)
  const count = limit === undefined ? -1 : asInteger(limit)
  return name === 'split' ? splitText(text, by, count) : splitFromEnd(text, by, count)
}

function stripMethod(name: 'strip' | 'lstrip' | 'rstrip', text: string, call: CallArguments): string {
  const [set] = bindArguments(call, { name, parameters: ['chars'] })
  const characterSet = set === undefined || set === null ? undefined : textOf(set)
  return trimText(text, { start: name !== 'rstrip', end: name !== 'lstrip', characters: characterSet })
}

function replaceMethod(text: string, call: CallArguments): string {
  const [from = '', to = '', count = -1] = bindArguments(call, {
    name: 'replace',
    parameters: ['old', 'new', 'count'],
    required: 2,
  })
  return replaceText(text, textOf(from), { to: textOf(to), count: asInteger(count) })
}

function joinMethod(text: string, call: CallArguments): string {
  const [values = null] = bindArguments(call, { name: 'join', parameters: ['iterable'], required: 1 })
  const parts = collect(values).map((item, index) => {
    if (typeof item === 'string') return item
    throw runtimeError(`sequence item ${index}: expected str instance, ${typeName(item)} found`)
  })
  return joinTexts(parts, text)
}

function affix(name: 'startswith' | 'endswith', text: string, call: CallArguments): boolean {
  const [wanted = '', start, end] = bindArguments(call, { name, parameters: ['prefix', 'start', 'end'], required: 1 })
  const section = sliceFor(text, start, end)
  if (section.isOutside) return false
  const part = plainText(section.part)
  const options = isA(wanted, 'tuple') ? wanted.items : [wanted]
  const texts = options.map(textOf).map(plainText)
  for (const { length } of texts) spendRead(length + 8)
  return texts.some((each) => (name === 'startswith' ? part.startsWith(each) : part.endsWith(each)))
}

function removeAffix(name: 'removeprefix' | 'removesuffix', text: string, call: CallArguments): string {
  const [wanted = ''] = bindArguments(call, { name, parameters: ['prefix'], required: 1 })
  const [cut, all] = [plainText(textOf(wanted)), plainText(text)]
  if (name === 'removeprefix') return all.startsWith(cut) ? text.slice(cut.length) : text
  return cut !== '' && all.endsWith(cut) ? text.slice(0, -cut.length) : text
}

function partition(name: 'partition' | 'rpartition', text: string, call: CallArguments): Value {
  const [separator = ''] = bindArguments(call, { name, parameters: ['sep'], required: 1 })
  const by = textOf(separator)
  if (by === '') throw runtimeError('empty separator')
  spendSearch(text.length, by.length)
  const [all, sought] = [plainText(text), plainText(by)]
  const at = name === 'partition' ? all.indexOf(sought) : all.lastIndexOf(sought)
  if (at === -1) return name === 'partition' ? tuple(text, '', '') : tuple('', '', text)
  return tuple(text.slice(0, at), text.slice(at, at + by.length), text.slice(at + by.length))
}

function search(name: 'find' | 'index' | 'rfind' | 'rindex', text: string, call: CallArguments): number {
  const [wanted = '', start, end] = bindArguments(call, { name, parameters: ['sub', 'start', 'end'], required: 1 })
  const { part, from, isOutside } = sliceFor(text, start, end)
  if (isOutside) return -1
  const [all, sought] = [plainText(part), plainText(textOf(wanted))]
  spendSearch(all.length, sought.length)
  const at = name.startsWith('r') ? all.lastIndexOf(sought) : all.indexOf(sought)
  return at === -1 ? -1 : from + countCharacters(part.slice(0, at))
}

function found(at: number): number {
  if (at === -1) throw runtimeError('substring not found')
  return at
}

function countIn(text: string, call: CallArguments): number {
  const [wanted = '', start, end] = bindArguments(call, { name: 'count', parameters: ['sub', 'start', 'end'], required: 1 })
  const { part, isOutside } = sliceFor(text, start, end)
  if (isOutside) return 0
  const what = textOf(wanted)
  return what === '' ? countCharacters(part) + 1 : splitPlain(part, what).length - 1
}

/** `isOutside`: not even an empty text is found there. */
type Section = { readonly part: string; readonly from: number; readonly isOutside: boolean }

/** The slice between optional bounds, in code points; negative ones count from the end. */
function sliceFor(text: string, start: Value | undefined, end: Value | undefined): Section {
  const length = countCharacters(text)
  const offset = (value: Value | undefined, otherwise: number): number => {
    if (value === undefined || value === null) return otherwise
    const number = asInteger(value)
    return number < 0 ? Math.max(0, number + length) : number
  }
  const from = offset(start, 0)
  const to = offset(end, length)
  return { part: sliceText(text, from, Math.max(from, to)), from, isOutside: from > length || to < from }
}

function justify(name: 'center' | 'ljust' | 'rjust', text: string, call: CallArguments): string {
  const [width = 0, fill = ' '] = bindArguments(call, { name, parameters: ['width', 'fillchar'], required: 1 })
  return justifyText(name, text, { width: asInteger(width), fill: textOf(fill) })
}

/** Pads a text; `center` puts an odd space where Python does. */
export function justifyText(
  name: 'center' | 'ljust' | 'rjust',
  text: string,
  { width, fill = ' ' }: { width: number; fill?: string },
): string {
  const missing = width - countCharacters(text)
  if (missing <= 0) return text
  spendText(text.length + missing * fill.length)
  if (name === 'ljust') return text + fill.repeat(missing)
  if (name === 'rjust') return fill.repeat(missing) + text
  const left = Math.floor(missing / 2) + (missing & width & 1)
  return fill.repeat(left) + text + fill.repeat(missing - left)
}

function zeroFill(text: string, call: CallArguments): string {
  const [width = 0] = bindArguments(call, { name: 'zfill', parameters: ['width'], required: 1 })
  const sign = text.slice(0, /^[-+]/.test(plainText(text)) ? 1 : 0)
  return sign + justifyText('rjust', text.slice(sign.length), { width: asInteger(width) - sign.length, fill: '0' })
}

function textOf(value: Value): string {
  if (typeof value === 'string') return value
  refuseUndefined(value)
  throw runtimeError(`must be str, not ${typeName(value)}`)
}
