import type { MessagesTraits, Profile, ProfileName, Protocol } from './profile.ts'
import { profiles } from './profiles.ts'

/** What is the same for a server in all its protocols. */
type Identity = Pick<Profile, 'name' | 'health' | 'ranksByLogits' | 'developerRole' | 'stopsAnswers'>

/** The version of the API that clients of Messages must name. */
const anthropicVersion = { 'anthropic-version': '2023-06-01' }

/** What both protocols say that they read. */
const commonTypes = { image: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] }

/** Anthropic's Messages, with no more than the protocol has. */
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
  decodes: commonTypes,
  ignoresDetail: true,
  continuation: 'always',
  stop: 'stop_sequences',
  stopsHere: false,
  runningUsage: false,
  extras: {},
  tokenizer: 'messages',
  messages: { freeThinking: 'adaptive' },
}

/** OpenAI's Responses, with no more than the protocol has. */
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

/** What kinds of servers take in Responses besides. */
const responsesOf: Partial<Record<ProfileName, Partial<Profile>>> = {
  // OpenAI refuses reasoning of others.
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
    // Exact, and it has the tokens, too.
    tokenizer: 'llama-server',
    responses: { encryptsAlways: true, readsThoughts: true },
  },
}

/** What kinds of servers take in Messages besides. */
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
      // The stop sequences of a request are the ends of turns: a caller's own are found here.
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
