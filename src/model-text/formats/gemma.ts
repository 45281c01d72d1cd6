import { acceptAfterSpace, peek, space, until } from '../scan/text-feed.ts'
import type { CallReader } from './call-writer.ts'
import { jsonCalls } from './json-calls.ts'
import { objectIsNext, readArguments } from './read-arguments.ts'
import type { ToolFormat } from './tool-format.ts'
import { endMarks } from './turn-marks.ts'

/** Calls as `call:NAME{key:value}` between tags. Strings are between delimiters, without escapes. */
function braceCalls(options: { readonly open: string; readonly close: string; readonly quote: string }): ToolFormat {
  const { open, close, quote } = options
  const ends = endMarks([{ tag: close, before: [open] }])
  const read: CallReader = function* (writer) {
    const { feed } = writer
    yield* acceptAfterSpace(feed, ['call:'])
    const toolName = yield* until(feed, ['{', close], 512)
    const tool = toolName === undefined ? undefined : writer.tool(toolName.trim())
    if (tool === undefined) return false
    yield* space(feed)
    const hasArguments = (yield* peek(feed)) === '{'
    if (hasArguments && !(yield* objectIsNext(feed))) return false
    writer.open(tool)
    if (hasArguments) yield* readArguments(writer, tool, { rawQuote: quote, ends })
    else writer.arguments('{}')
    writer.close()
    yield* acceptAfterSpace(feed, [close])
    return true
  }
  return {
    triggers: () => [{ tag: open, position: 'anywhere', endsReasoning: 'parsed', read }],
    visibleTokens: [open, close, quote],
    // The model was taught delimiters of its own, but JSON's quotes are read as well, and grammars need them.
    describeCalls: (tools, { parallel }) =>
      jsonCalls(
        tools,
        { prefix: open, separator: close + open, suffix: close, parallel },
        { before: (toolName) => `call:${toolName}`, after: '' },
      ),
  }
}

/** Gemma 4. */
export const gemma4: ToolFormat = {
  ...braceCalls({ open: '<|tool_call>', close: '<tool_call|>', quote: '<|"|>' }),
  droppedTags: ['<|tool_response>', '<tool_response|>'].map((tag) => ({ tag, position: 'start' })),
}

/** FunctionGemma. */
export const functionGemma = braceCalls({
  open: '<start_function_call>',
  close: '<end_function_call>',
  quote: '<escape>',
})
