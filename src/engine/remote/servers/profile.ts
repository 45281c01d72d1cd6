import type { MediaKind } from '../../../contract/media.ts'
import type { GenerationRequest } from '../../../contract/request.ts'
import type { RequestHead } from '../transport/client.ts'

/** The kinds of servers. `openai` is anything that speaks only OpenAI's protocol. */
export const profileNames = [
  'vllm',
  'aphrodite',
  'sglang',
  'llama-server',
  'ollama',
  'tgi',
  'tabbyapi',
  'dragoman',
  'anthropic',
  'together',
  'fireworks',
  'groq',
  'openai',
] as const

export type ProfileName = (typeof profileNames)[number]

/** How conversations are sent: in OpenAI's chat completions or Responses, in Anthropic's Messages, or rendered here, as text. */
export const protocolNames = ['chat', 'responses', 'messages', 'completions'] as const

export type Protocol = (typeof protocolNames)[number]

/** Where a pattern or grammar goes: the path of a request field, or a `response_format` of this type with a field of this name. */
export type ConstraintField = readonly [string, ...string[]] | { readonly format: string; readonly key: string }

/** The field names and abilities of a kind of server, as data: no other code asks which kind it talks to. */
export type Profile = {
  readonly name: ProfileName
  readonly protocol: Protocol
  /** Where the key goes, and the headers of every request. Absent: a bearer token. */
  readonly head?: RequestHead
  /** The names of sampling fields. Absent ones are refused. */
  readonly fields: {
    readonly seed?: string
    readonly presencePenalty?: string
    readonly frequencyPenalty?: string
    readonly topK?: string
    readonly minP?: string
    readonly repetitionPenalty?: string
    readonly repetitionRange?: string
    readonly ignoreEos?: string
    readonly minOutputTokens?: string
    /** With llama.cpp's field names. */
    readonly xtc?: true
    readonly dry?: true
    /** Typical, top-n-sigma, dynamic temperature, mirostat, adaptive-p; an order of samplers. */
    readonly others?: true
    /** Samplers and other features of Dragoman's embedded engine: top-a, smoothing, banned strings, guidance and others. */
    readonly own?: true
    /**
     * Single samplers of `others` and `own` that the kind has, keyed by their names in llama.cpp's and Dragoman's API, with the kind's own
     * names.
     */
    readonly some?: Readonly<Record<string, string>>
    readonly allowedTokens?: string
    readonly stopTokens?: string
  }
  /** Whether temperature is applied after the samplers that remove tokens: always, never, or as a field says. Absent: unknown. */
  readonly temperatureLast?: boolean | { readonly field: string }
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens'
  /** Its default output limit is low, and it shortens a limit that exceeds the context: the context length is sent as the limit. */
  readonly contextAsLimit?: true
  /** Accepts the role `developer`; others get `system`. */
  readonly developerRole?: true
  /** Refuses names of speakers. */
  readonly refusesNames?: true
  /** Accepts token ids. */
  readonly logitBias: boolean
  /** Accepts `n`; otherwise each choice is a request. */
  readonly choices: boolean
  /** Refuses `n` with temperature 0, which gives equal choices. */
  readonly refusesEqualChoices?: true
  readonly logprobs: boolean
  /** Chats lose log-probabilities of text that its parser holds back, and calls of turns that they continue; completions lose nothing. */
  readonly losesHeldOutput?: true
  /** Sends no log-probabilities if `top_logprobs` is below this. */
  readonly leastTop?: number
  /** Chat takes `allowed_tools`: the other tools stay in the prompt, which a cache may have. */
  readonly takesAllowedTools?: true
  /** Chat and completions take the name of an adapter, as `use_adapter`. */
  readonly takesAdapters?: true
  /** Lists as many top log-probabilities as are asked for. */
  readonly listsAllTops?: true
  /** The most top log-probabilities. */
  readonly mostTop?: number
  /** Chat takes the number of top log-probabilities as `logprobs`. */
  readonly countsLogprobs?: true
  /** Scores of `rerank` are logits, not probabilities. */
  readonly ranksByLogits?: true
  /** Completions with `echo` and `logprobs` score the prompt's tokens. */
  readonly scoresPrompts?: true
  /** Completions accept `suffix`. */
  readonly suffix: boolean
  readonly regex?: ConstraintField
  readonly gbnf?: ConstraintField
  /** Accepts `response_format` of the type `structural_tag`. */
  readonly structuralTags?: true
  /** Gets constraints as our grammars: its own compiler may crash on a client's schema. */
  readonly takesOurGrammars?: true
  /**
   * JSON is asked for by our grammars: its own let a model write white space without an end, and take long where a text has a limit. Its
   * operator may have chosen a compiler that takes none.
   */
  readonly prefersGrammars?: true
  /** Refuses a request with a tool whose schema it does not understand. */
  readonly refusesUnknownSchemas?: true
  /** How constraints are written. */
  readonly outputStyle: 'openai' | 'json-object' | 'json-schema' | 'tgi' | 'responses' | 'messages'
  readonly jsonObject: boolean
  readonly jsonSchema: boolean
  /** Whether `required` and a named function are enforced. Without names, the one tool is declared alone. */
  readonly toolChoice: 'full' | 'no-names' | 'none'
  /** Required calls are held to the schemas of strict tools only. */
  readonly holdsStrictOnly?: true
  /** A structure that is asked for leaves no room for calls, or gives way to them where a tool is strict. */
  readonly structuresEndCalls?: true
  /** Accepts `parallel_tool_calls`; llama-server's default is false. */
  readonly parallelToolCalls: boolean
  /** Accepts `reasoning_budget_tokens` and `reasoning_budget_message`. */
  readonly reasoningBudget?: boolean
  /** Accepts OpenAI's fields about the caller, its tier and its cache. */
  readonly forwards?: true
  /** Fields specific to this kind that callers may send, and that are passed on as they are. */
  readonly ownFields?: readonly string[]
  /** The kind's own names of some of them. */
  readonly ownNames?: Readonly<Record<string, string>>
  readonly verbosity?: true
  /** Accepts the text of a chat template, as `chat_template`. */
  readonly takesTemplates?: true
  /** `chat_template_kwargs` reach the template. */
  readonly templateVariables: boolean
  /** The media that its requests can hold. */
  readonly reads: Readonly<Record<MediaKind, boolean>>
  /** The types that it decodes; others are converted first. Absent: all. */
  readonly decodes?: { readonly [Kind in 'image' | 'audio' | 'file']?: readonly string[] }
  /** Ignores the rotation in a photograph's metadata, and transparency. */
  readonly decodesSimply?: true
  /** Has no field like `detail`: images are shrunk here. */
  readonly ignoresDetail?: true
  /** Continues a last assistant message: on request, or always. */
  readonly continuation?: 'fields' | 'always'
  /** The request field of stop sequences. */
  readonly stop: 'stop' | 'stop_sequences'
  /** The field of a choice with the stop sequence that ended it. */
  readonly stopField?: 'stop_reason' | 'matched_stop'
  /**
   * Stop sequences are not sent but searched here, and end the request: the server would not report which one matched, but counts tokens in
   * each chunk.
   */
  readonly stopsHere: boolean
  /** Certainly searches stop sequences in answers only. Others might end the reasoning at one, so those of chats are searched here. */
  readonly stopsAnswers?: true
  /** Can report usage in each chunk. */
  readonly runningUsage: boolean
  /** Fields of a request whose output has special tokens that are parsed here. */
  readonly showsTokens?: Readonly<Record<string, unknown>>
  /** Accepts the texts of special tokens to keep in its output. */
  readonly keepsTokens?: string
  /** Fields of every request. */
  readonly extras: Readonly<Record<string, unknown>>
  /** Which kind's tokenizer routes it has. Those of Responses and Messages only count. */
  readonly tokenizer?: 'vllm' | 'llama-server' | 'responses' | 'messages'
  /** `/chat/completions/input_tokens` counts a conversation with the tokens of its media. */
  readonly countsMedia?: true
  /** Properties of its Responses route that the protocol leaves open. */
  readonly responses?: ResponsesTraits
  /** Properties of its Messages route that the protocol leaves open. */
  readonly messages?: MessagesTraits
  /** Reads prompts beside generating: while it has requests, some of them advance. */
  readonly isBatching?: true
  /** Its slots share no caches: each reads what a prompt begins with. */
  readonly separateSlots?: true
  /** It says how much it has to do, on request and in its metrics. */
  readonly reportsLoad?: true
  /** Metrics that change while its engine works. Absent: it may have none. */
  readonly workMetrics?: readonly string[]
  /** Where its root has OpenAI's routes: those of the same names at the root have forms of their own. */
  readonly below?: string
  /** What it has from this version on; servers that do not report theirs lack it. */
  readonly since?: { readonly version: readonly number[]; readonly has: Partial<Profile> }
  /** The route of health checks, below the server's root or its OpenAI base. */
  readonly health: { readonly path: string; readonly fromRoot: boolean }
}

/** Whether the stop sequences of a request are searched here instead of being sent. */
export function findsStops({ prompt }: Pick<GenerationRequest, 'prompt'>, { stopsHere, stopsAnswers }: Profile): boolean {
  return stopsHere || (stopsAnswers !== true && prompt.type === 'chat')
}

/** The differences between servers with Responses. */
type ResponsesTraits = {
  /** Encrypted reasoning may be requested of any model. */
  readonly encryptsAlways?: true
  /** Reads reasoning that it did not encrypt. */
  readonly readsThoughts?: true
}

/** The differences between servers with a Messages route. */
export type MessagesTraits = {
  /** Where system messages after the first are accepted: between a user's turn and an answer or the end, or anywhere. Absent: nowhere. */
  readonly lateSystem?: 'before-answers' | 'anywhere'
  /** The `thinking` of a request that leaves it open. Absent: not sent. */
  readonly openThinking?: 'adaptive'
  /** The `thinking` of a request that asks for some without a budget. */
  readonly freeThinking: 'adaptive' | 'enabled'
}
