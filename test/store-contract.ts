import { describe } from 'vitest'
import { describeBatches } from './store-contract/batches.ts'
import { describeCompletions } from './store-contract/completions.ts'
import { describeConversations } from './store-contract/conversations.ts'
import { describeHistories } from './store-contract/histories.ts'
import { describeLifetimes } from './store-contract/lifetimes.ts'
import { describeOwners } from './store-contract/owners.ts'
import { describeResponses } from './store-contract/responses.ts'
import type { OpenStore } from './store-contract/suite.ts'
import { describeUsage } from './store-contract/usage.ts'

/** What every store must do, whatever database it has. */
export function describeStoreContract(name: string, open: OpenStore): void {
  describe(`store contract: ${name}`, () => {
    describeResponses(open)
    describeHistories(open)
    describeConversations(open)
    describeCompletions(open)
    describeOwners(open)
    describeLifetimes(open)
    describeUsage(open)
    describeBatches(open)
  })
}
