import { accept, acceptAfterSpace, peek, type Reading, space, until } from '../scan/text-feed.ts'
import { readCallList, readCallObject } from './call-object.ts'
import type { CallWriter } from './call-writer.ts'
import { jsonCalls } from './json-calls.ts'
import { bareJson } from './json-formats.ts'
import { acceptNoArguments, objectIsNext, readArguments, readNameBefore, writeEmptyCall } from './read-arguments.ts'
import type { ToolFormat } from './tool-format.ts'
import { endMarks, turnEnds } from './turn-marks.ts'

/** Mistral's calls have no tag at their end. */
const mistralEnd = { tag: '[TOOL_CALLS]', before: ['[', '{'] }

const readMistralList = readCallList({
  close: [],
  ends: [mistralEnd],
  one: (writer, options) => readCallObject(writer, { ...options, deferred: true }),
})

/** Mistral before its eleventh tokenizer: a list of JSON objects, each with an id at its end. */
export const mistral: ToolFormat = {
  triggers: () => [
    { tag: '[TOOL_CALLS]', position: 'anywhere', endsReasoning: 'parsed', read: readMistral },
    ...bareJson('start'),
  ],
  droppedTags: [{ tag: '</s>', position: 'anywhere', only: 'last' }],
  visibleTokens: ['[TOOL_CALLS]', '[ARGS]', '[CALL_ID]'],
  describeCalls: jsonCalls({
    prefix: '[TOOL_CALLS][',
    separator: ', ',
    suffix: ']',
    before: (name) => `{"name": ${JSON.stringify(name)}, "arguments": `,
    after: '}',
  }),
}

/** Mistral since then: `[TOOL_CALLS]NAME[ARGS]{…}`. */
export const mistralNamed: ToolFormat = {
  ...mistral,
  describeCalls: jsonCalls({ prefix: '[TOOL_CALLS]', separator: '[TOOL_CALLS]', before: (name) => `${name}[ARGS]` }),
}

function* readMistral(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  const next = yield* peek(feed)
  if (next === '{' || next === '[') return yield* readMistralList(writer)
  if (!(yield* readMistralNamed(writer))) return false
  while (true) {
    feed.hold()
    yield* acceptAfterSpace(feed, [','])
    if (!(yield* readMistralNamed(writer))) break
  }
  feed.rewind()
  return true
}

const nextTags = ['[TOOL_CALLS]', '</s>', ...turnEnds]

function* readMistralNamed(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  const name = yield* readNameBefore(feed, ['[CALL_ID]', '[ARGS]', '{', ...nextTags])
  const tool = name === undefined ? undefined : writer.tool(name.trim())
  if (tool === undefined) return false
  let id: string | undefined
  if (yield* accept(feed, '[CALL_ID]')) id = yield* until(feed, ['[ARGS]', '{'], 128)
  const isMarked = yield* accept(feed, '[ARGS]')
  if (yield* acceptNoArguments(feed, tool, { ends: nextTags, atEnd: isMarked })) {
    writeEmptyCall(writer, tool, id?.trim())
    return true
  }
  yield* space(feed)
  if (!(yield* objectIsNext(feed))) return false
  writer.open(tool, id?.trim())
  const names = writer.tools.map((each) => each.name)
  yield* readArguments(writer, tool, { ends: endMarks([{ ...mistralEnd, before: [...mistralEnd.before, ...names] }]) })
  writer.close()
  return true
}
