import type { Prompt, ReasoningOptions } from '../contract/request.ts'
import type { ChatDefaults } from '../contract/served-model.ts'

type Rendered = { readonly prompt: Prompt; readonly reasoning: ReasoningOptions }

/** Applies the operator's settings for conversations to a request: defaults for what it leaves open, and forced values. */
export function withChatDefaults<R extends Rendered>(request: R, defaults: ChatDefaults | undefined): R {
  const { prompt, reasoning } = request
  if (defaults === undefined || prompt.type !== 'chat') return request
  const templateVariables = { ...defaults.variables, ...prompt.templateVariables, ...defaults.forcedVariables }
  const known = withReasoning(reasoning, defaults.reasoning)
  return { ...request, prompt: { ...prompt, templateVariables }, reasoning: forced(known, defaults.forcedReasoning) }
}

/** An effort or a budget also decides whether a model thinks: a contradictory one is dropped. */
function forced(asked: ReasoningOptions, by: ChatDefaults['forcedReasoning']): ReasoningOptions {
  if (by === undefined) return asked
  const { enabled = by.effort === undefined ? undefined : by.effort !== 'none' } = by
  const { effort, budgetTokens, isWish: _, ...others } = asked
  const keepsEffort = effort !== undefined && enabled !== false && (enabled === undefined || effort !== 'none')
  const keepsBudget = budgetTokens !== undefined && enabled !== false && (enabled === undefined || budgetTokens !== 0)
  return {
    ...others,
    ...(keepsEffort && { effort }),
    ...(keepsBudget && { budgetTokens }),
    ...by,
    ...(enabled !== undefined && { enabled }),
  }
}

function withReasoning(asked: ReasoningOptions, defaults: ChatDefaults['reasoning']): ReasoningOptions {
  const { enabled, effort, budgetTokens } = asked
  // A protocol's default for an absent field may be off; that counts as open, too.
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
