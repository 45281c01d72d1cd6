import { DocumentProblem } from './problem.ts'

/** An element that opens, by its local name. */
export type XmlElement = { readonly type: 'open'; readonly name: string; attribute(name: string): string | undefined }

/** An element opens or closes, or there is text. */
export type XmlEvent =
  | XmlElement
  | { readonly type: 'close'; readonly name: string }
  | { readonly type: 'text'; readonly text: string }

/** The events of an XML document, or of XHTML that may lack closing tags. A DTD with declarations is refused: no entity is expanded. */
export function* readXml(xml: string): Generator<XmlEvent, void, void> {
  let at = 0
  while (at < xml.length) {
    const tag = xml.indexOf('<', at)
    if (tag !== at) yield { type: 'text', text: unescapeXml(xml.slice(at, tag < 0 ? undefined : tag)) }
    if (tag < 0) return
    if (xml.startsWith('<![CDATA[', tag)) {
      const end = endOf(xml, ']]>', tag)
      yield { type: 'text', text: xml.slice(tag + '<![CDATA['.length, end - ']]>'.length) }
      at = end
    } else if (xml.startsWith('<!--', tag)) at = endOf(xml, '-->', tag)
    else if (xml.startsWith('<?', tag)) at = endOf(xml, '?>', tag)
    else if (xml.startsWith('<!', tag)) {
      at = endOf(xml, '>', tag)
      if (xml.slice(tag, at).includes('[')) throw new DocumentProblem('damaged', 'declares XML entities, so it is not read')
    } else {
      at = tagEnd(xml, tag + 1) + 1
      yield* readTag(xml.slice(tag + 1, at - 1))
    }
  }
}

function* readTag(body: string): Generator<XmlEvent, void, void> {
  if (body.startsWith('/')) {
    yield { type: 'close', name: localName(body.slice(1).trim()) }
    return
  }
  const name = localName(/^[^\s/]+/.exec(body)?.[0] ?? '')
  yield { type: 'open', name, attribute: (wanted) => attributeIn(body, wanted) }
  if (body.endsWith('/')) yield { type: 'close', name }
}

/** The place of the `>` that ends a tag, outside of its attributes. */
function tagEnd(xml: string, start: number): number {
  let quote = ''
  for (let at = start; at < xml.length; at++) {
    const char = xml[at] as string
    if (quote !== '') {
      if (char === quote) quote = ''
    } else if (char === '"' || char === "'") quote = char
    else if (char === '>') return at
  }
  return xml.length
}

function endOf(xml: string, end: string, start: number): number {
  const at = xml.indexOf(end, start)
  return at < 0 ? xml.length : at + end.length
}

function attributeIn(body: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(body)
  return found === null ? undefined : unescapeXml(found[1] ?? found[2] ?? '')
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1)
}

/** Those of XML, and what books of XHTML have most. */
const entities: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  amp: '&',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  shy: '',
  ndash: '–',
  mdash: '—',
  hellip: '…',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  copy: '©',
}
const lastPoint = 0x10ffff

function unescapeXml(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(
    /&(?:#x([\da-f]{1,8})|#(\d{1,8})|(\w{1,31}));/gi,
    (whole: string, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return (Object.hasOwn(entities, name) ? entities[name] : undefined) ?? whole
      const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
      return point <= lastPoint ? String.fromCodePoint(point) : '\ufffd'
    },
  )
}
