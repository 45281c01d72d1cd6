import { existsSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cpuMsOf } from '../../../test/support/process/cpu-time.ts'
import { roundsOf } from '../../../test/support/process/soak-length.ts'
import { SseDecoder, type SseEvent } from './sse-decoder.ts'

type Vector = {
  id: string
  bytes_b64?: string
  sha_len: number
  spec_events?: { event: string | null; data: string }[]
}

const file = new URL('../../../../shared/vectors/sse/torture.json', import.meta.url)
const available = existsSync(file)
const vectors: Vector[] = available ? JSON.parse(readFileSync(file, 'utf8')).vectors : []

const chunkings: Record<string, (bytes: Buffer) => Buffer[]> = {
  whole: (bytes) => [bytes],
  'every byte': (bytes) => pieces(bytes, 1),
  'every 2': (bytes) => pieces(bytes, 2),
  'every 7': (bytes) => pieces(bytes, 7),
  'after each CR or LF': (bytes) => cut(bytes, (byte) => byte === 10 || byte === 13),
  'inside each character': (bytes) => cut(bytes, (byte) => byte >= 0xc0),
}

describe.skipIf(!available)('the torture vectors', () => {
  const known = vectors.filter(({ spec_events }) => spec_events !== undefined)
  test.each(known.flatMap((vector) => Object.keys(chunkings).map((chunking) => ({ id: vector.id, chunking, vector }))))(
    '$id, $chunking',
    ({ vector, chunking }) => {
      const bytes = Buffer.from(vector.bytes_b64 ?? '', 'base64')
      const events = decode(chunkings[chunking]?.(bytes) ?? [])
      const wanted = (vector.spec_events ?? []).map(({ event, data }) => (event === null ? { data } : { event, data }))
      // The parser that made the vectors never ends a last event whose blank line is a CR; by the standard it is complete.
      if (vector.id === 'cr-only') wanted.push({ data: '[DONE]' })
      expect(events.map(({ event, data }) => (event === undefined ? { data } : { event, data }))).toEqual(wanted)
    },
  )

  test.each([roundsOf(5, 1), 65_536])('ten-thousand-tiny-events, every %i', (size) => {
    const frames = Buffer.from(vectors.find(({ id }) => id === 'baseline-lf')?.bytes_b64 ?? '', 'base64')
      .toString()
      .split(/(?<=\n\n)/)
    const [role = '', token = '', , finish = '', done = ''] = frames
    const bytes = Buffer.from([role, token.replace('Hé ', 'x').repeat(10_000), finish, done].join(''))
    const vector = vectors.find(({ id }) => id === 'ten-thousand-tiny-events')
    expect(bytes.length).toBe(vector?.sha_len)
    expect(decode(pieces(bytes, size))).toHaveLength(10_003)
  })

  test('all vectors are tested', () => {
    expect(known.length + 1).toBe(vectors.length)
  })
})

const cases: { name: string; stream: string | Buffer; events: Partial<SseEvent>[] }[] = [
  { name: 'LF, CR and CRLF end lines alike', stream: 'data: a\n\ndata: b\r\rdata: c\r\n\r\n', events: datas('a', 'b', 'c') },
  {
    name: 'mixed line ends end one event',
    stream: 'data: a\r\n\ndata: b\n\r\ndata: c\r\n\rdata: d\n\n',
    events: datas('a', 'b', 'c', 'd'),
  },
  { name: 'several data lines are joined', stream: 'data: a\ndata:\ndata\ndata: b\n\n', events: datas('a\n\n\nb') },
  { name: 'one space after the colon is dropped', stream: 'data:a\n\ndata:  b \n\n', events: datas('a', ' b ') },
  { name: 'empty data is an event, no data is not', stream: 'data:\n\n\n\nevent: x\n\n: data: c\n\n', events: datas('') },
  {
    name: 'a byte order mark is dropped once',
    stream: '\ufeffdata: a\n\n\ufeffdata: b\n\ndata: \ufeffc\n\n',
    events: datas('a', '\ufeffc'),
  },
  {
    name: 'names and unknown fields',
    stream: 'event: e\nfoo: 1\ndatax: 2\nData: 3\n data: 4\ndata: a\n\ndata: b\n\n',
    events: [{ event: 'e', data: 'a' }, { data: 'b' }],
  },
  { name: 'an empty name resets the name', stream: 'event: e\nevent\ndata: a\n\n', events: [{ data: 'a' }] },
  { name: 'characters of every length', stream: 'data: é世🌍\n\n', events: datas('é世🌍') },
  { name: 'comments after the last event change nothing', stream: 'data: a\n\n: bye\n', events: datas('a') },
  { name: 'an incomplete line is not an event', stream: 'data: a\n\ndata: b', events: datas('a') },
  { name: 'without its blank line, it is not an event', stream: 'data: a\n\ndata: b\r\n', events: datas('a') },
  { name: 'a name without data is not an event', stream: 'event: error\n', events: [] },
  {
    name: 'an incomplete character is not an event',
    stream: Buffer.from('data: a\n\n世').subarray(0, -1),
    events: datas('a'),
  },
  { name: 'no bytes at all', stream: '', events: [] },
]

test.each(cases)('the stream "$name" is decoded alike in any pieces', ({ stream, events }) => {
  for (const split of Object.values(chunkings)) {
    const result = decode(split(Buffer.from(stream)))
    expect(result).toMatchObject(events)
    expect(result).toHaveLength(events.length)
  }
})

test('an event is emitted with the byte that completes it, also a CR', () => {
  const decoder = new SseDecoder()
  expect(decoder.push(Buffer.from('data: a\r'))).toEqual([])
  expect(decoder.push(Buffer.from('\r'))).toHaveLength(1)
  expect(decoder.push(Buffer.from('\ndata: b\n\n'))).toMatchObject([{ data: 'b' }])
})

test('splitting a stream differently gives the same events', () => {
  const part = fc.constantFrom(
    'data',
    'event',
    'id',
    'retry',
    ':',
    ' ',
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    'é世🌍',
    '\ufeff',
    'data: x\n\n',
    '\0',
    '7',
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 40 }), fc.array(fc.nat(60), { maxLength: 12 }), (parts, cuts) => {
      const bytes = Buffer.from(parts.join(''))
      const marks = [...new Set(cuts.map((mark) => Math.min(mark, bytes.length)))].sort((a, b) => a - b)
      const chunks = [...marks, bytes.length].map((mark, index) => bytes.subarray(marks[index - 1] ?? 0, mark))
      expect(decode(chunks)).toEqual(decode([bytes]))
    }),
    { numRuns: roundsOf(100, 500) },
  )
})

test('one byte order mark is dropped, also in pieces', () => {
  const bytes = Buffer.from('\ufeff\ufeffdata: x\n\ndata: y\n\n')
  for (const cut of [0, 1, 2, 3, 4]) expect(decode([bytes.subarray(0, cut), bytes.subarray(cut)])).toMatchObject(datas('y'))
})

test('invalid UTF-8 becomes replacement characters', () => {
  const events = decode([Buffer.from([...Buffer.from('data: a'), 0xff, 0xe4, 0xb8, ...Buffer.from('b\n\n')])])
  expect(events).toMatchObject(datas('a\ufffd\ufffdb'))
})

test('the caller may reuse its buffer', () => {
  const decoder = new SseDecoder()
  const buffer = Buffer.from('data: ab')
  decoder.push(buffer)
  buffer.fill(0)
  expect(decoder.push(Buffer.from('c\n\n'))).toMatchObject([{ data: 'abc' }])
})

test.each([
  { name: 'one line', unit: 'data: aaaa' },
  { name: 'many lines', unit: 'data: aaaa\n' },
  { name: 'one comment', unit: ': aaaa' },
])('an event beyond the limit is rejected: $name', ({ unit }) => {
  const decoder = new SseDecoder(RangeError, 1000)
  expect(() => {
    for (let count = 0; count < 1000; count++) decoder.push(Buffer.from(unit))
  }).toThrow('an event of more than 1000 characters')
})

describe('large streams', () => {
  test('a 15 MB event in 4 KB chunks takes linear time', async () => {
    const chunk = Buffer.alloc(4096, 'x')
    // Four times the bytes should take four times as long; eight times allows for noise.
    const small = await cpuMsOf(() => decodeChunked(chunk, 960))
    const large = await cpuMsOf(() => decodeChunked(chunk, 3840))
    expect(large).toBeLessThan(8 * small + 500)
  })

  test.each([
    { name: 'LF', unit: ':\n' },
    { name: 'CR', unit: ':\r' },
    { name: 'one CR among LFs', unit: '\n' },
  ])('a chunk of many lines takes linear time: $name', async ({ unit }) => {
    const bytes = Buffer.from(`:\r${unit.repeat(2 ** 21)}`)
    const decoder = new SseDecoder()
    // Quadratic time would be hours.
    expect(await cpuMsOf(() => decoder.push(bytes))).toBeLessThan(20_000)
  })

  test('ten thousand events are all emitted', () => {
    const decoder = new SseDecoder()
    let count = 0
    for (let index = 0; index < 10_000; index++) count += decoder.push(Buffer.from(`data: {"index":${index}}\n\n`)).length
    expect(count).toBe(10_000)
  })
})

/** Decodes one event that comes in so many equal chunks. */
function decodeChunked(chunk: Buffer, count: number): void {
  const decoder = new SseDecoder()
  let length = 0
  const add = (events: readonly SseEvent[]) => {
    for (const { data } of events) length += data.length
  }
  add(decoder.push(Buffer.from('data: ')))
  for (let index = 0; index < count; index++) add(decoder.push(chunk))
  add(decoder.push(Buffer.from('\n\n')))
  expect(length).toBe(chunk.length * count)
}

function decode(chunks: readonly Uint8Array[]): SseEvent[] {
  const decoder = new SseDecoder()
  return chunks.flatMap((chunk) => decoder.push(chunk))
}

function datas(...texts: string[]): { data: string }[] {
  return texts.map((data) => ({ data }))
}

function pieces(bytes: Buffer, size: number): Buffer[] {
  const result: Buffer[] = []
  for (let start = 0; start < bytes.length; start += size) result.push(bytes.subarray(start, start + size))
  return result
}

function cut(bytes: Buffer, isEnd: (byte: number) => boolean): Buffer[] {
  const result: Buffer[] = []
  let start = 0
  for (const [index, byte] of bytes.entries()) {
    if (!isEnd(byte)) continue
    result.push(bytes.subarray(start, index + 1))
    start = index + 1
  }
  return [...result, bytes.subarray(start)]
}
