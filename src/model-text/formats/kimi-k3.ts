import { accept, peek, type Reading, type TextFeed, until } from '../scan/text-feed.ts'
import type { CallReader } from './call-writer.ts'
import { elementCalls } from './element-formats.ts'
import { type ArgumentHead, type ElementStyle, readElements } from './elements.ts'
import { text } from './json-calls.ts'
import { acceptNoArguments } from './read-arguments.ts'
import type { DroppedTag, ToolFormat } from './tool-format.ts'

const sep = '<|sep|>'

const style: ElementStyle = {
  head: '<|open|>argument',
  readHead,
  valueEnd: '<|close|>argument<|sep|>',
  callEnds: ['<|close|>call<|sep|>'],
  wrapperEnds: ['<|close|>tools<|sep|>', '<|open|>call'],
}

const readCall: CallReader = function* (writer) {
  const { feed } = writer
  const attributes = yield* until(feed, [sep], 512)
  const name = attributes === undefined ? undefined : attribute(attributes, 'tool')
  const tool = name === undefined ? undefined : writer.tool(name)
  if (tool === undefined) return false
  yield* accept(feed, sep)
  if ((yield* peek(feed)) === '' && !feed.truncated && !(yield* acceptNoArguments(feed, tool, { ends: [] })))
    return writer.unfinished()
  writer.open(tool)
  yield* readElements(writer, tool, style)
  return true
}

/** Kimi K3: XML whose tags are special tokens, `<|open|>call tool="…"<|sep|>`; each argument has its type. */
export const kimiK3: ToolFormat = {
  triggers: () => [{ tag: '<|open|>call', position: 'anywhere', endsReasoning: 'parsed', read: readCall }],
  droppedTags: [
    { tag: '<|open|>response<|sep|>', position: 'anywhere', beginsAnswer: true },
    ...['<|close|>response<|sep|>', '<|close|>message<|sep|>', '<|end_of_msg|>'].map(
      (tag): DroppedTag => ({ tag, position: 'anywhere' }),
    ),
    ...['<|open|>tools<|sep|>', '<|close|>tools<|sep|>'].map((tag): DroppedTag => ({ tag, position: 'anywhere', ofCalls: true })),
  ],
  visibleTokens: ['<|open|>', '<|close|>', '<|sep|>', '<|end_of_msg|>'],
  describeCalls(tools, options) {
    const { calls, ...around } = describeElements(tools, options)
    return {
      ...around,
      calls: calls.map(({ name, pieces }) => ({
        name,
        pieces: [text(`<|open|>call tool="${name}" index="`), { type: 'position', first: 1 }, text(`"${sep}`), ...pieces],
      })),
    }
  },
}

const describeElements = elementCalls({
  prefix: '<|open|>tools<|sep|>',
  separator: '',
  suffix: '<|close|>tools<|sep|>',
  begin: () => '',
  before: (key, isText) => `<|open|>argument key="${key}"${isText ? ' type="string"' : ''}<|sep|>`,
  after: () => '<|close|>argument<|sep|>',
  end: '<|close|>call<|sep|>',
})

function* readHead(feed: TextFeed): Reading<ArgumentHead | undefined> {
  const attributes = yield* until(feed, [sep], 512)
  const key = attributes === undefined ? undefined : attribute(attributes, 'key')
  if (attributes === undefined || key === undefined) return undefined
  yield* accept(feed, sep)
  const type = attribute(attributes, 'type')
  return { key, ...(type !== undefined && { typed: type === 'string' ? 'text' : 'json' }) }
}

function attribute(attributes: string, name: string): string | undefined {
  return new RegExp(`\\s${name}\\s*=\\s*"([^"]*)"`).exec(attributes)?.[1]
}
