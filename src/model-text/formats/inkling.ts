import { acceptAfterSpace, peek, type Reading, space } from '../scan/text-feed.ts'
import { readCallObject } from './call-object.ts'
import type { CallWriter } from './call-writer.ts'
import { spellingsOf } from './find-tool.ts'
import { jsonCalls } from './json-calls.ts'
import type { DroppedTag, ToolFormat, Trigger } from './tool-format.ts'
import { endMarks } from './turn-marks.ts'

const [start, end] = ['<|message_model|>', '<|end_message|>']
const invoke = '<|content_invoke_tool_json|>'

/**
 * Inkling: a message for each part of an answer, with a token for its kind. A call's message has the tool's name in front of that token,
 * and the name and `args` as JSON behind it. The prompt ends with the first `<|message_model|>`.
 */
export const inkling: ToolFormat = {
  triggers: (tools) => [
    { tag: invoke, position: 'anywhere', endsReasoning: 'parsed', read: readInvocation },
    ...tools
      .flatMap(({ name }) => spellingsOf(name))
      .map((name): Trigger => ({ tag: name + invoke, position: 'anywhere', endsReasoning: 'parsed', read: readInvocation })),
  ],
  droppedTags: [
    ...[start, '<|content_text|>'].map((tag): DroppedTag => ({ tag, position: 'anywhere', beginsAnswer: true })),
    ...[end, '<|content_model_end_sampling|>'].map((tag): DroppedTag => ({ tag, position: 'anywhere' })),
  ],
  betweenMessages: start,
  visibleTokens: [start, '<|content_text|>', '<|content_thinking|>', invoke, end],
  describeCalls: jsonCalls({
    separator: end + start,
    suffix: end,
    before: (name) => `${name}${invoke}{"name": ${JSON.stringify(name)}, "args": `,
    after: '}',
  }),
}

const ends = endMarks([{ tag: end, before: [start] }])

function* readInvocation(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  if ((yield* peek(feed)) !== '{' || !(yield* readCallObject(writer, { ends }))) return false
  yield* acceptAfterSpace(feed, [end])
  return true
}
