import { peek, type Reading, space } from '../scan/text-feed.ts'
import { readCallList } from './call-object.ts'
import type { CallWriter } from './call-writer.ts'
import { elementCalls } from './element-formats.ts'
import { objectCalls } from './json-calls.ts'
import { readNameBefore } from './read-arguments.ts'
import { argumentPairs, readPairs } from './tagged-calls.ts'
import type { ToolFormat } from './tool-format.ts'
import { turnEnds } from './turn-marks.ts'

const [begin, end] = ['<longcat_tool_call>', '</longcat_tool_call>']
const pairs = argumentPairs({ prefix: 'longcat_' })
const readJson = readCallList({ close: [end] })

/** LongCat Flash Chat: Hermes' objects between tags of its own. */
export const longcat: ToolFormat = {
  triggers: () => [{ tag: begin, position: 'anywhere', endsReasoning: 'constrained', read: readLongcat }],
  visibleTokens: [begin, end],
  describeCalls: objectCalls({ prefix: begin, separator: `${end}\n${begin}`, suffix: end }),
}

/** LongCat Flash Lite and later: GLM's pairs, with `longcat_` in every tag. */
export const longcatPairs: ToolFormat = {
  ...longcat,
  visibleTokens: [begin, end, ...['arg_key', 'arg_value'].flatMap((name) => [`<longcat_${name}>`, `</longcat_${name}>`])],
  describeCalls: elementCalls({
    prefix: begin,
    separator: `\n${end}\n${begin}`,
    suffix: `\n${end}`,
    begin: (name) => name,
    before: (key) => `\n<longcat_arg_key>${key}</longcat_arg_key>\n<longcat_arg_value>`,
    after: () => '</longcat_arg_value>',
    end: '',
  }),
}

function* readLongcat(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  const next = yield* peek(feed)
  if (next === '{' || next === '[') return yield* readJson(writer)
  const name = yield* readNameBefore(feed, ['\n', pairs.head, '{', end, begin, ...turnEnds])
  return name !== undefined && (yield* readPairs(writer, { name: name.trim(), style: pairs }))
}
