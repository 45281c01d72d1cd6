import { argumentsSchema } from '../../canonical/callable-tools.ts'
import type { FunctionTool } from '../../contract/request.ts'
import { acceptAfterSpace, peek, type Reading, space } from '../scan/text-feed.ts'
import { readCallList } from './call-object.ts'
import type { CallWriter } from './call-writer.ts'
import { text } from './json-calls.ts'
import { bareJson } from './json-formats.ts'
import { readItems } from './list-items.ts'
import { isExpression, namedCalls, readCallExpression, readPythonCalls } from './python-calls.ts'
import type { RequiredCalls } from './required-calls.ts'
import type { ToolFormat } from './tool-format.ts'
import { endMarks } from './turn-marks.ts'

const readList = readPythonCalls({ bracket: 'needed' })

/** Calls in Python, in a list or alone, without tags: MLC, Gorilla, Llama 3.2. */
export const pythonic: ToolFormat = {
  triggers: (tools) => [
    { tag: '[', position: 'line', keep: true, read: readList },
    ...namedCalls(tools),
    ...bareJson('start').filter(({ tag }) => tag === '{'),
    { tag: '```tool_code', position: 'line', read: readToolCode },
    { tag: '```python', position: 'start', read: readToolCode },
  ],
  visibleTokens: [],
  describeCalls: (tools, { parallel }) => pythonCalls(tools, { prefix: '[', suffix: ']', parallel }),
}

function* readToolCode(writer: CallWriter): Reading<boolean> {
  const read = readPythonCalls({ close: ['```'] })
  return yield* read(writer)
}

/** LFM2: a list of Python calls between tags. */
export const lfm2: ToolFormat = {
  triggers: () => [
    { tag: '<|tool_call_start|>', position: 'anywhere', endsReasoning: 'parsed', read: readLfm2 },
    ...bareJson('start').filter(({ tag }) => tag === '{'),
  ],
  visibleTokens: ['<|tool_call_start|>', '<|tool_call_end|>'],
  describeCalls: (tools, { parallel }) =>
    pythonCalls(tools, { prefix: '<|tool_call_start|>[', suffix: ']<|tool_call_end|>', parallel }),
}

const readLfm2Python = readPythonCalls({ close: ['<|tool_call_end|>'] })
const readLfm2Json = readCallList({ close: ['<|tool_call_end|>'] })

/** Python, or JSON where the system message asks for it. */
function* readLfm2(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  const isList = (yield* acceptAfterSpace(feed, ['['])) !== undefined
  yield* space(feed)
  const isJson = (yield* peek(feed)) === '{'
  if (!(yield* isJson ? readLfm2Json(writer) : readLfm2Python(writer))) return false
  if (isList) {
    yield* acceptAfterSpace(feed, [']'])
    yield* acceptAfterSpace(feed, ['<|tool_call_end|>'])
  }
  return true
}

/** Olmo 3: a Python call in each line. */
export const olmo: ToolFormat = {
  triggers: () => [{ tag: '<function_calls>', position: 'anywhere', endsReasoning: 'parsed', read: readOlmo }],
  visibleTokens: ['<function_calls>', '</function_calls>'],
  describeCalls: (tools, { parallel }) =>
    pythonCalls(tools, { prefix: '<function_calls>', suffix: '</function_calls>', separator: '\n', parallel }),
}

const olmoEnds = endMarks([{ tag: '</function_calls>', before: [] }])

function* readOlmo(writer: CallWriter): Reading<boolean> {
  const { feed } = writer
  yield* space(feed)
  const isMade = yield* readItems(writer, {
    readCall: () => readCallExpression(writer, { ends: olmoEnds }),
    *readSeparator() {
      yield* space(feed)
      return /\w/.test(yield* peek(feed))
    },
    isCall: isExpression,
    bracketed: true,
  })
  if (!isMade) return false
  yield* acceptAfterSpace(feed, ['</function_calls>'])
  return true
}

/** Calls as `f(**{…})`, with the arguments as JSON: grammars describe JSON, which is read like Python's own values. */
function pythonCalls(
  tools: readonly FunctionTool[],
  around: { readonly prefix: string; readonly suffix: string; readonly separator?: string; readonly parallel: boolean },
): RequiredCalls {
  const { prefix, suffix, separator = ', ', parallel } = around
  return {
    prefix,
    suffix,
    ...(parallel && { separator }),
    calls: tools.map((tool) => ({
      name: tool.name,
      pieces: [text(`${tool.name}(**`), { type: 'json', schema: argumentsSchema(tool) }, text(')')],
    })),
  }
}
