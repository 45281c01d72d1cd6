/** The kinds of servers that are known by name. `openai` is anything that speaks no more than OpenAI's own protocol. */
export const profileNames = ['vllm', 'sglang', 'llama-server', 'ollama', 'dragoman', 'openai'] as const

export type ProfileName = (typeof profileNames)[number]

/** How a constraint is written into a request: the path of the field that takes the pattern or the grammar. */
type ConstraintField = readonly [string, ...string[]]

/** What a kind of server calls things, and what it cannot do. Data: nothing else asks which server it talks to. */
export type Profile = {
  readonly name: ProfileName
  /** Sampling fields beyond OpenAI's, by their name there; those that are absent are refused. */
  readonly fields: {
    readonly topK?: string
    readonly minP?: string
    readonly repetitionPenalty?: string
    readonly repetitionRange?: string
    readonly ignoreEos?: string
    /** llama.cpp's names, all of them. */
    readonly xtc?: true
    readonly dry?: true
  }
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens'
  /** Token ids as biases. */
  readonly logitBias: boolean
  /** More than one choice in a request. Without it, as many requests are sent. */
  readonly choices: boolean
  /** It refuses several choices that can only be equal (temperature 0). */
  readonly refusesEqualChoices?: true
  readonly logprobs: boolean
  /** It takes a wish for fewer likeliest tokens than these for a wish for no log-probabilities. */
  readonly leastTop?: number
  /** Scores of `rerank` are logits; elsewhere they are probabilities. */
  readonly ranksByLogits?: true
  /** Completions take a text that follows the gap. */
  readonly suffix: boolean
  readonly regex?: ConstraintField
  readonly gbnf?: ConstraintField
  /** Constraints are written as grammars of ours: what its own compiler makes of a caller's schema could bring it down. */
  readonly takesOurGrammars?: true
  readonly jsonObject: boolean
  readonly jsonSchema: boolean
  /** `required` and a named function bind the server. Without it, one tool is declared, or the request refused. */
  readonly toolChoice: 'full' | 'no-names' | 'none'
  /** `parallel_tool_calls` is understood; llama-server takes its absence for false. */
  readonly parallelToolCalls: boolean
  /** `chat_template_kwargs` reach the template. */
  readonly templateVariables: boolean
  /** A last message of the assistant is continued: by fields that ask for it, or always. */
  readonly continuation?: 'fields' | 'always'
  /** The field of a choice that says which stop text ended it. */
  readonly stopField?: 'stop_reason' | 'matched_stop'
  /**
   * Stop texts are looked for here, and the request is ended when one comes: the server would not say which it was, but
   * tells with each chunk how many tokens there were.
   */
  readonly stopsHere: boolean
  /** A stream can count its tokens as it goes. */
  readonly runningUsage: boolean
  /** Fields that every request carries. */
  readonly extras: Readonly<Record<string, unknown>>
  /** Where texts are turned into tokens. */
  readonly tokenizer?: 'vllm' | 'llama-server'
  /** What is asked to see whether it is ready: from the server's root, or from where its OpenAI routes begin. */
  readonly health: { readonly path: string; readonly fromRoot: boolean }
}

const plain: Profile = {
  name: 'openai',
  fields: {},
  maxTokens: 'max_completion_tokens',
  logitBias: true,
  choices: true,
  logprobs: true,
  suffix: true,
  jsonObject: true,
  jsonSchema: true,
  toolChoice: 'full',
  parallelToolCalls: true,
  templateVariables: false,
  stopsHere: false,
  runningUsage: false,
  extras: {},
  health: { path: '/models', fromRoot: false },
}

/** Every known kind. docs/engines names the versions with which what is said here was seen, and the kinds that nobody ran. */
export const profiles: Readonly<Record<ProfileName, Profile>> = {
  openai: plain,
  vllm: {
    ...plain,
    name: 'vllm',
    refusesEqualChoices: true,
    suffix: false,
    fields: { topK: 'top_k', minP: 'min_p', repetitionPenalty: 'repetition_penalty', ignoreEos: 'ignore_eos' },
    maxTokens: 'max_tokens',
    regex: ['structured_outputs', 'regex'],
    gbnf: ['structured_outputs', 'grammar'],
    templateVariables: true,
    continuation: 'fields',
    stopField: 'stop_reason',
    runningUsage: true,
    tokenizer: 'vllm',
    health: { path: '/health', fromRoot: true },
  },
  sglang: {
    ...plain,
    name: 'sglang',
    suffix: false,
    fields: { topK: 'top_k', minP: 'min_p', repetitionPenalty: 'repetition_penalty', ignoreEos: 'ignore_eos' },
    maxTokens: 'max_tokens',
    regex: ['regex'],
    gbnf: ['ebnf'],
    templateVariables: true,
    continuation: 'fields',
    stopField: 'matched_stop',
    health: { path: '/health', fromRoot: true },
  },
  'llama-server': {
    ...plain,
    name: 'llama-server',
    fields: {
      topK: 'top_k',
      minP: 'min_p',
      repetitionPenalty: 'repeat_penalty',
      repetitionRange: 'repeat_last_n',
      ignoreEos: 'ignore_eos',
      xtc: true,
      dry: true,
    },
    maxTokens: 'max_tokens',
    choices: false,
    suffix: false,
    gbnf: ['grammar'],
    takesOurGrammars: true,
    leastTop: 1,
    ranksByLogits: true,
    toolChoice: 'no-names',
    templateVariables: true,
    continuation: 'always',
    stopsHere: true,
    // Without its progress, it does not notice before the prompt's end that nobody waits for it any more (measured: 9 s).
    extras: { timings_per_token: true, cache_prompt: true, return_progress: true },
    tokenizer: 'llama-server',
    health: { path: '/health', fromRoot: true },
  },
  ollama: {
    ...plain,
    name: 'ollama',
    maxTokens: 'max_tokens',
    logitBias: false,
    choices: false,
    logprobs: false,
    toolChoice: 'none',
    parallelToolCalls: false,
    health: { path: '/api/version', fromRoot: true },
  },
  dragoman: {
    ...plain,
    name: 'dragoman',
    fields: {
      topK: 'top_k',
      minP: 'min_p',
      repetitionPenalty: 'repetition_penalty',
      repetitionRange: 'penalty_range',
      ignoreEos: 'ignore_eos',
      xtc: true,
      dry: true,
    },
    regex: ['regex'],
    gbnf: ['grammar'],
    templateVariables: true,
    continuation: 'fields',
    stopField: 'stop_reason',
    tokenizer: 'llama-server',
    health: { path: '/health', fromRoot: true },
  },
}
