import { accept, space } from '../scan/text-feed.ts'
import type { CallReader } from './call-writer.ts'
import { atemCalls } from './element-formats.ts'
import { jsonCalls } from './json-calls.ts'
import { acceptNoArguments, objectIsNext, readArguments, writeEmptyCall } from './read-arguments.ts'
import type { MessageKind, ToolFormat } from './tool-format.ts'
import { endMarks } from './turn-marks.ts'

const endTags = ['<|call|>', '<|end|>', '<|return|>', '<|eom|>', '<|eot|>']

/** Tags that end a message, and the tag that begins one. */
const messageEnds = endMarks([
  ...endTags.map((tag) => ({ tag, before: ['<|start|>'] })),
  { tag: '<|start|>', before: ['assistant'] },
])

const readJsonBody = (toolName: string): CallReader =>
  function* (writer) {
    const { feed } = writer
    const tool = writer.tool(toolName)
    if (tool === undefined) return false
    if (yield* acceptNoArguments(feed, tool, { ends: [...endTags, '<|start|>'], atEnd: true })) {
      writeEmptyCall(writer, tool)
      return true
    }
    if (!(yield* objectIsNext(feed))) return false
    writer.open(tool)
    yield* readArguments(writer, tool, { ends: messageEnds })
    writer.close()
    return true
  }

/** gpt-oss: messages on channels; a call is a message to `functions.NAME`, and models may leave out `functions.`. */
export const harmony: ToolFormat = {
  triggers: () => [],
  messages: {
    start: '<|start|>',
    inBody: ['<|start|>', '<|channel|>'],
    body: '<|message|>',
    ends: ['<|end|>', '<|call|>', '<|return|>'],
    headerStarts: [
      '<|channel|>',
      '<|start|>',
      'assistant<|channel|>',
      ' to=',
      'to=',
      ' to =',
      'to =',
      '<|message|>',
      '<|constrain|>',
    ],
    readHeader: readHarmonyHeader,
    readCall: readJsonBody,
  },
  visibleTokens: ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>', '<|call|>', '<|return|>'],
  // The prompt ends with `<|start|>assistant`; after reasoning, the next message begins with it.
  describeCalls: jsonCalls({
    separator: '<|end|><|start|>assistant',
    before: (name) => `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>`,
  }),
}

function readHarmonyHeader(header: string): MessageKind {
  const recipients = [...header.matchAll(/to\s*=\s*([^\s<]+)/g)].map((match) => match[1] as string)
  const recipient = recipients.findLast((name) => name !== 'assistant' && name !== 'user')
  if (recipient !== undefined) return { type: 'call', name: recipient }
  const channel = [...header.matchAll(/<\|channel\|>\s*(\w+)/g)].at(-1)?.[1]
  return { type: channel === 'analysis' ? 'reasoning' : 'text' }
}

/** Glimmer: messages to `self`, to the user, or to a tool. */
export const glimmer: ToolFormat = {
  triggers: () => [],
  messages: {
    start: '<|start|>',
    inBody: ['<|start|>'],
    body: '<|message|>',
    ends: ['<|eom|>', '<|eot|>'],
    headerStarts: ['<|start|>', ' to=', 'to=', ' to =', 'to =', '<|message|>'],
    readHeader(header) {
      const recipient = /to\s*=\s*([^\s<]+)/.exec(header)?.[1]
      if (recipient === undefined || recipient === 'user') return { type: 'text' }
      return recipient === 'self' ? { type: 'reasoning' } : { type: 'call', name: recipient }
    },
    readCall: (toolName) =>
      function* (writer) {
        const { feed } = writer
        yield* space(feed)
        if (!(yield* accept(feed, '<atem:function_calls>'))) return yield* readJsonBody(toolName)(writer)
        return yield* atemCalls.read(writer)
      },
  },
  visibleTokens: ['<|start|>', '<|message|>', '<|eom|>', '<|eot|>', '<atem:function_calls>', '</atem:function_calls>'],
  describeCalls(tools, { parallel }) {
    const required = atemCalls.describeCalls(tools, { parallel: false })
    const inMessage = required.calls.map(({ name, pieces }) => ({
      name,
      pieces: [
        { type: 'text' as const, text: ` to=${name}<|message|>${required.prefix}` },
        ...pieces,
        { type: 'text' as const, text: required.suffix },
      ],
    }))
    return { prefix: '', suffix: '', calls: inMessage, ...(parallel && { separator: '<|eom|><|start|>assistant' }) }
  },
}
