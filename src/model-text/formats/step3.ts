import { accept, acceptAfterSpace, type Reading, space } from '../scan/text-feed.ts'
import { readBlockOf } from './call-block.ts'
import type { CallWriter } from './call-writer.ts'
import { invocations } from './element-formats.ts'
import { text } from './json-calls.ts'
import type { ToolFormat } from './tool-format.ts'

const [blockBegin, blockEnd] = ['<｜tool_calls_begin｜>', '<｜tool_calls_end｜>']
const [callBegin, callEnd, separator] = ['<｜tool_call_begin｜>', '<｜tool_call_end｜>', '<｜tool_sep｜>']

const steptml = invocations({ blocks: [], namespace: 'steptml:', ends: [callEnd, blockEnd, callBegin] })

/** Step 3: a block of special tokens, with an element `<steptml:invoke name="…">` in each call. */
export const step3: ToolFormat = {
  triggers: () => [
    {
      tag: blockBegin,
      position: 'anywhere',
      endsReasoning: 'parsed',
      read: readBlockOf({ begin: callBegin, end: [blockEnd], read: readCall }),
    },
    { tag: callBegin, position: 'anywhere', endsReasoning: 'parsed', read: readCall },
  ],
  visibleTokens: [blockBegin, blockEnd, callBegin, callEnd, separator],
  describeCalls(tools, options) {
    const { calls } = steptml.describeCalls(tools, options)
    return {
      prefix: blockBegin,
      suffix: blockEnd,
      ...(options.parallel && { separator: '' }),
      calls: calls.map((call) => ({
        ...call,
        pieces: [text(`${callBegin}function${separator}`), ...call.pieces, text(callEnd)],
      })),
    }
  },
}

function* readCall(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  yield* accept(feed, 'function')
  if ((yield* acceptAfterSpace(feed, [separator])) === undefined) return false
  if ((yield* acceptAfterSpace(feed, ['<steptml:invoke'])) === undefined) return false
  if (!(yield* steptml.readInvoke(writer))) return false
  yield* acceptAfterSpace(feed, [callEnd])
  return true
}
