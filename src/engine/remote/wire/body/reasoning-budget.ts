import type { ReasoningOptions } from '../../../../contract/request.ts'
import type { Profile } from '../../servers/profile.ts'
import { unsupported } from './sampling-fields.ts'

/** The limit of the reasoning, and the text that ends it. Throws for a limit that the server does not accept. */
export function budgetFields(
  { budgetTokens, budgetMessage, isWish }: ReasoningOptions,
  profile: Profile,
): Record<string, unknown> {
  if (profile.reasoningBudget !== true) {
    // A budget of 0 switches thinking off.
    if (budgetTokens === undefined || budgetTokens === 0 || isWish === true) return {}
    throw unsupported(profile, ['reasoning', 'budgetTokens'])
  }
  return {
    ...(budgetTokens !== undefined && { reasoning_budget_tokens: budgetTokens }),
    ...(budgetMessage !== undefined && { reasoning_budget_message: budgetMessage }),
  }
}
