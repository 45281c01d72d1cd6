import type { JsonObject, ReasoningOptions } from '../../contract/request.ts'

/** A variable that switches a template's thinking, or tunes it if there is no switch. */
export type ThinkingSwitch = 'enable_thinking' | 'thinking' | 'thinking_mode' | 'thinking_budget' | 'reasoning_effort'

/** The values of each switch; the first that a template reads is its switch. */
export const thinkingSwitches: readonly { readonly name: ThinkingSwitch; readonly on: unknown; readonly off: unknown }[] = [
  { name: 'enable_thinking', on: true, off: false },
  { name: 'thinking', on: true, off: false },
  { name: 'thinking_mode', on: 'enabled', off: 'disabled' },
  { name: 'thinking_budget', on: -1, off: 0 },
  { name: 'reasoning_effort', on: 'high', off: 'low' },
]

/**
 * A request's reasoning options as template variables, under all names that templates use: a template ignores unknown ones. An absent field
 * sets nothing, so that the template's default applies.
 */
export function reasoningVariables(
  { enabled, effort, budgetTokens, preserve }: ReasoningOptions,
  thinkingSwitch: ThinkingSwitch | undefined,
): JsonObject {
  const tuned = effort === undefined || effort === 'none' ? undefined : effort
  // Some templates think only on request; an effort counts as one.
  const wanted = enabled ?? (effort === 'none' ? false : tuned !== undefined && budgetTokens !== 0 ? true : undefined)
  return {
    ...(wanted !== undefined && switchVariables(wanted, thinkingSwitch)),
    ...(budgetTokens !== undefined && { thinking_budget: wanted === false ? 0 : budgetTokens }),
    ...(tuned !== undefined && { reasoning_effort: tuned, thinking_effort: tuned, reasoning_strength: tuned }),
    ...(preserve !== undefined && {
      preserve_thinking: preserve,
      clear_thinking: !preserve,
      keep_past_thinking: preserve,
      truncate_history_thinking: !preserve,
    }),
  }
}

function switchVariables(wanted: boolean, thinkingSwitch: ThinkingSwitch | undefined): JsonObject {
  const pairs = thinkingSwitches.filter(({ name }) => {
    // A budget and an effort tune thinking: they are set only to switch it off, if the template has no other switch.
    const tunes = name === 'thinking_budget' || name === 'reasoning_effort'
    return !tunes || (name === thinkingSwitch && !wanted)
  })
  return Object.fromEntries(pairs.map(({ name, on, off }) => [name, wanted ? on : off]))
}
