import type { FunctionTool } from '../../contract/request.ts'
import { until } from '../scan/text-feed.ts'
import type { CallReader } from './call-writer.ts'
import { deepseekDsml, hunyuan, hunyuanPreview, laguna, minicpm, minimaxM2, seedOss } from './element-formats.ts'
import { functionGemma, gemma4 } from './gemma.ts'
import { harmony } from './harmony.ts'
import { deepseek, kimiK2, react, solar } from './headed-formats.ts'
import { inkling } from './inkling.ts'
import {
  apertus,
  commandR7b,
  functools,
  gigachat,
  granite,
  granite20b,
  hermes,
  internlm,
  llama3,
  llama4,
  nemotron,
  toolCallsTag,
} from './json-formats.ts'
import { kimiK3 } from './kimi-k3.ts'
import { longcat } from './longcat.ts'
import { minimaxM3 } from './minimax-m3.ts'
import { mistral } from './mistral.ts'
import { lfm2, olmo, pythonic } from './python-formats.ts'
import { step3 } from './step3.ts'
import type { MessageSyntax, ToolFormat, Trigger } from './tool-format.ts'

/**
 * The formats whose tags identify them; the first of two with the same tag reads it. Hermes' tags are also those of Qwen's and GLM's XML.
 * Llama's brackets may begin a list in JSON or in Python, and its reader finds out which: so it comes first.
 */
const recoverable: readonly ToolFormat[] = [
  ...[llama3, hermes, mistral, deepseek, kimiK2, toolCallsTag, granite, olmo, pythonic],
  ...[gemma4, functionGemma, llama4, minimaxM2, minimaxM3, functools, commandR7b, nemotron, lfm2, react],
  ...[seedOss, deepseekDsml, minicpm, hunyuan, hunyuanPreview, laguna, solar, inkling, apertus, gigachat, internlm],
  ...[kimiK3, longcat, step3, granite20b],
]

/**
 * Calls in any form that a server left in its text, if its model's format is unknown. No template is recognized as this format, and it
 * cannot be configured.
 */
export const anyFormat: ToolFormat = {
  triggers: (tools) => {
    const byTag = new Map<string, Trigger>()
    for (const trigger of [...recoverable.flatMap((format) => format.triggers(tools)), ...messageCalls(tools)])
      if (!byTag.has(trigger.tag)) byTag.set(trigger.tag, trigger)
    return [...byTag.values()]
  },
  droppedTags: [...(gemma4.droppedTags ?? []), ...(commandR7b.droppedTags ?? [])],
  visibleTokens: [],
  describeCalls: hermes.describeCalls,
}

/** No header of a message is longer. */
const maxHeaderChars = 512

/** Calls of gpt-oss: messages to a tool in a text that is not read as a row of messages. */
function messageCalls(tools: readonly FunctionTool[]): readonly Trigger[] {
  const syntax = harmony.messages
  if (syntax === undefined || tools.length === 0) return []
  return [syntax.start, '<|channel|>', 'to=functions.'].map((tag) => ({
    tag,
    position: tag.startsWith('<') ? 'anywhere' : 'start',
    keep: true,
    read: readMessageCall(syntax),
  }))
}

function readMessageCall({ body, readHeader, readCall }: MessageSyntax): CallReader {
  return function* (writer) {
    const { feed } = writer
    const header = yield* until(feed, [body], maxHeaderChars)
    const kind = header === undefined ? undefined : readHeader(header)
    if (kind?.type !== 'call') return false
    feed.at += body.length
    return yield* readCall(kind.name)(writer)
  }
}
