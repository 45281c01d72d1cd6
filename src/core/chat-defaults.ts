import type { Prompt, ReasoningOptions } from '../contract/request.ts'
import type { ChatDefaults } from '../contract/served-model.ts'

type Rendered = { readonly prompt: Prompt; readonly reasoning: ReasoningOptions }

/** A request with what its model's operator has chosen for conversations: defaults where it says nothing, and what is forced. */
export function withChatDefaults<R extends Rendered>(request: R, defaults: ChatDefaults | undefined): R {
  const { prompt, reasoning } = request
  if (defaults === undefined || prompt.type !== 'chat') return request
  const templateVariables = { ...defaults.variables, ...prompt.templateVariables, ...defaults.forcedVariables }
  return { ...request, prompt: { ...prompt, templateVariables }, reasoning: withReasoning(reasoning, defaults.reasoning) }
}

function withReasoning(asked: ReasoningOptions, defaults: ChatDefaults['reasoning']): ReasoningOptions {
  const { enabled, effort, budgetTokens } = asked
  // What protocols mean by saying nothing is off, too.
  const isSilent = enabled === undefined || (enabled === false && asked.isWish === true)
  const { enabled: _, ...others } = asked
  const isOpen = isSilent && effort === undefined && budgetTokens === undefined && defaults.enabled !== undefined
  const known = isOpen ? { ...others, enabled: defaults.enabled } : asked
  const isOff = known.enabled === false || budgetTokens === 0
  return {
    ...(defaults.preserve !== undefined && { preserve: defaults.preserve }),
    ...(defaults.effort !== undefined && !isOff && { effort: defaults.effort }),
    ...known,
  }
}
