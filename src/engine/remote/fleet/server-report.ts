import { hostOf } from '../../../base/text/server-url.ts'
import type { ServerReport } from '../../../contract/engine.ts'
import { type Discovery, profileOf } from '../servers/upstream.ts'
import type { BreakerState } from './breaker.ts'
import type { ReplicaReport } from './replicas.ts'

const states: Readonly<Record<BreakerState, ServerReport['state']>> = {
  closed: 'healthy',
  'half-open': 'half-open',
  open: 'unhealthy',
}

/** The public report of a replica. It shows only the host: a URL may hold a secret path. */
export function toServerReport({
  id,
  breaker,
  isDraining,
  source,
  lastFailure,
  activeRequests,
  outstandingTokens,
  discovery,
}: ReplicaReport): ServerReport {
  return {
    host: hostOf(id),
    state: isDraining === true ? 'draining' : states[breaker],
    ...(source !== undefined && { source }),
    ...(lastFailure !== undefined && { lastFailure }),
    activeRequests,
    outstandingTokens,
    ...(discovery !== undefined && {
      found: {
        kind: discovery.profile,
        protocol: discovery.protocol,
        model: discovery.model,
        ...(discovery.version !== undefined && { version: discovery.version }),
        ...(discovery.contextLength !== undefined && { contextLength: discovery.contextLength }),
        abilities: abilitiesOf(discovery),
        ...(discovery.passes !== undefined && { passes: discovery.passes }),
      },
    }),
  }
}

function abilitiesOf(discovery: Discovery): Readonly<Record<string, boolean>> {
  const profile = profileOf(discovery)
  return {
    choices: profile.choices,
    logprobs: profile.logprobs,
    json_schema: profile.jsonSchema,
    regex: profile.regex !== undefined || profile.gbnf !== undefined,
    grammar: profile.gbnf !== undefined,
    tool_choice: profile.toolChoice !== 'none',
    template_variables: profile.templateVariables,
    continuation: profile.continuation !== undefined,
    tokenizer: profile.tokenizer !== undefined,
    usage_in_streams: discovery.abilities.usageInStreams ?? true,
    usage_as_it_goes: profile.runningUsage || profile.stopsHere,
  }
}
