import { deepseek, kimiK2 } from './headed-formats.ts'
import { granite, hermes, llama3, toolCallsTag } from './json-formats.ts'
import { mistral } from './mistral.ts'
import { olmo, pythonic } from './python-formats.ts'
import type { ToolFormat, Trigger } from './tool-format.ts'

/**
 * The formats whose tags identify them. Hermes' tags are those of Qwen's and GLM's XML too. Llama's brackets may begin a list in
 * JSON or in Python, and its reader finds out which: so it comes first.
 */
const recoverable = [llama3, hermes, mistral, deepseek, kimiK2, toolCallsTag, granite, olmo, pythonic] as const

/**
 * Calls in any form that a server left in its text, when it is not known how its model writes them. No template is recognised as
 * this format, and it cannot be configured.
 */
export const anyFormat: ToolFormat = {
  triggers: (tools) => {
    const byTag = new Map<string, Trigger>()
    for (const format of recoverable) {
      for (const trigger of format.triggers(tools)) if (!byTag.has(trigger.tag)) byTag.set(trigger.tag, trigger)
    }
    return [...byTag.values()]
  },
  visibleTokens: [],
  describeCalls: hermes.describeCalls,
}
