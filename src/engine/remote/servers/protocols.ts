import type { MessagesTraits, Profile, ProfileName, Protocol } from './profile.ts'
import { profiles } from './profiles.ts'

/** The properties that a server has in all its protocols. */
type Identity = Pick<Profile, 'name' | 'health' | 'ranksByLogits' | 'developerRole' | 'stopsAnswers'>

/** The version of the API that clients of Messages must name. */
const anthropicVersion = { 'anthropic-version': '2023-06-01' }

/** The types that both protocols document. */
const commonTypes = { image: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] }

/** Anthropic's Messages, without extensions. */
const overMessages: Omit<Profile, keyof Identity> = {
  protocol: 'messages',
  // Servers of other kinds mostly check the bearer token only.
  head: { keyHeader: 'both', headers: anthropicVersion },
  fields: { topK: 'top_k' },
  maxTokens: 'max_tokens',
  logitBias: false,
  choices: false,
  logprobs: false,
  suffix: false,
  outputStyle: 'messages',
  jsonObject: false,
  jsonSchema: true,
  toolChoice: 'full',
  parallelToolCalls: true,
  templateVariables: false,
  reads: { image: true, audio: false, video: false, file: true },
  decodes: { ...commonTypes, file: ['application/pdf'] },
  ignoresDetail: true,
  continuation: 'always',
  stop: 'stop_sequences',
  stopsHere: false,
  runningUsage: false,
  extras: {},
  tokenizer: 'messages',
  messages: { freeThinking: 'adaptive' },
}

/** OpenAI's Responses, without extensions. */
const overResponses: Omit<Profile, keyof Identity> = {
  protocol: 'responses',
  fields: {},
  maxTokens: 'max_output_tokens',
  logitBias: false,
  choices: false,
  logprobs: true,
  suffix: false,
  outputStyle: 'responses',
  jsonObject: true,
  jsonSchema: true,
  toolChoice: 'full',
  parallelToolCalls: true,
  forwards: true,
  verbosity: true,
  templateVariables: false,
  reads: { image: true, audio: false, video: false, file: true },
  decodes: commonTypes,
  stop: 'stop',
  // The protocol has no field for them.
  stopsHere: true,
  runningUsage: false,
  extras: {},
  tokenizer: 'responses',
  responses: { readsThoughts: true },
}

const { fields, temperatureLast, regex, gbnf, ownFields } = profiles.dragoman

/** The extensions of Responses by kind of server. */
const responsesOf: Partial<Record<ProfileName, Partial<Profile>>> = {
  // OpenAI refuses reasoning of other servers.
  openai: { responses: {} },
  dragoman: {
    fields,
    ...(temperatureLast !== undefined && { temperatureLast }),
    ...(regex && { regex }),
    ...(gbnf && { gbnf }),
    ...(ownFields && { ownFields }),
    reasoningBudget: true,
    logitBias: true,
    templateVariables: true,
    reads: { image: true, audio: false, video: false, file: false },
    decodes: {},
    // Exact, and returns the tokens, too.
    tokenizer: 'llama-server',
    countsMedia: true,
    responses: { encryptsAlways: true, readsThoughts: true },
  },
}

/** The extensions of Messages by kind of server. */
const messagesOf: Partial<Record<ProfileName, Partial<Profile> & { readonly messages: MessagesTraits }>> = {
  anthropic: {
    head: { keyHeader: 'x-api-key', headers: anthropicVersion },
    messages: { lateSystem: 'before-answers', freeThinking: 'adaptive' },
  },
  dragoman: {
    fields: {
      topK: 'top_k',
      minP: 'min_p',
      repetitionPenalty: 'repetition_penalty',
      presencePenalty: 'presence_penalty',
    },
    jsonObject: true,
    // Without `thinking`, it does not think; `adaptive` leaves it to the template.
    messages: { lateSystem: 'anywhere', openThinking: 'adaptive', freeThinking: 'enabled' },
  },
}

/** The protocol of a kind of server, unless it is configured. */
export function protocolOf(kind: ProfileName): Protocol {
  return kind === 'anthropic' ? 'messages' : 'chat'
}

/** The profile of a kind of server that is spoken to in a protocol. */
export function profileIn(kind: ProfileName, protocol: Protocol): Profile {
  const profile = profiles[kind]
  switch (protocol) {
    case 'chat':
      return profile
    case 'responses':
      return { ...overResponses, ...responsesOf[kind], ...identityOf(profile) }
    case 'completions':
      // The request's stop sequences are the ends of turns: the caller's own are searched here.
      return { ...profile, protocol: 'completions', stopsHere: true, reasoningBudget: false }
    case 'messages':
      return { ...overMessages, ...messagesOf[kind], ...identityOf(profile) }
  }
}

function identityOf({ name, health, ranksByLogits, developerRole, stopsAnswers }: Profile): Identity {
  return {
    name,
    health,
    ...(ranksByLogits && { ranksByLogits }),
    ...(developerRole && { developerRole }),
    ...(stopsAnswers && { stopsAnswers }),
  }
}
