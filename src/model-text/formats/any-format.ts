import { deepseek, kimiK2, mistral } from './headed-formats.ts'
import { granite, hermes, llama3, toolCallsTag } from './json-formats.ts'
import { olmo, pythonic } from './python-formats.ts'
import type { ToolFormat, Trigger } from './tool-format.ts'

/**
 * The formats whose marks say what they are. Hermes' tags are those of Qwen's and GLM's XML too; what Llama's brackets mean, a list
 * in JSON or in Python, is found out by reading it, so it comes first.
 */
const recoverable = [llama3, hermes, mistral, deepseek, kimiK2, toolCallsTag, granite, olmo, pythonic] as const

/** Tags that models end a turn with, and that a server which does not know them leaves in the text. */
const endMarks = ['<|eot_id|>', '<|eom_id|>', '<|im_end|>', '<|end_of_text|>', '<|eot|>', '<|eom|>'] as const

/**
 * Calls in whatever form a server left them in its text, when nothing tells how the model behind it writes them. It is
 * recognised by no template and is not to be configured.
 */
export const anyFormat: ToolFormat = {
  triggers: (tools) => {
    const byMark = new Map<string, Trigger>()
    for (const format of recoverable) {
      for (const trigger of format.triggers(tools)) if (!byMark.has(trigger.tag)) byMark.set(trigger.tag, trigger)
    }
    return [...byMark.values()]
  },
  // Where more text follows they are spoken of.
  droppedTags: endMarks.map((tag) => ({ tag, position: 'anywhere', only: 'last' })),
  visibleTokens: [],
  describeCalls: hermes.describeCalls,
}
