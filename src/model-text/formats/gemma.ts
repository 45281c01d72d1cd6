import { acceptAfterSpace, peek, space, until } from '../scan/text-feed.ts'
import { type CallReader, readArguments } from './call-writer.ts'
import { jsonCalls } from './json-calls.ts'
import type { ToolFormat } from './tool-format.ts'

/** Calls as `call:NAME{key:value}` between tags. Strings are between delimiters, without escapes. */
function braceCalls(options: { readonly open: string; readonly close: string; readonly quote: string }): ToolFormat {
  const { open, close, quote } = options
  const read: CallReader = function* (writer) {
    const { feed } = writer
    yield* acceptAfterSpace(feed, ['call:'])
    const toolName = yield* until(feed, ['{', close], 512)
    const tool = toolName === undefined ? undefined : writer.tool(toolName.trim())
    if (tool === undefined) return false
    yield* space(feed)
    writer.open(tool)
    if ((yield* peek(feed)) === '{') yield* readArguments(writer, tool, { rawQuote: quote })
    else writer.arguments('{}')
    writer.close()
    yield* acceptAfterSpace(feed, [close])
    return true
  }
  return {
    triggers: () => [{ tag: open, position: 'anywhere', read }],
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
export const gemma4 = braceCalls({ open: '<|tool_call>', close: '<tool_call|>', quote: '<|"|>' })

/** FunctionGemma. */
export const functionGemma = braceCalls({
  open: '<start_function_call>',
  close: '<end_function_call>',
  quote: '<escape>',
})
