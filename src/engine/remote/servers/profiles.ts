/** The kinds of servers. `openai` is anything that speaks just OpenAI's protocol. */
export const profileNames = ['vllm', 'sglang', 'llama-server', 'ollama', 'dragoman', 'openai'] as const

export type ProfileName = (typeof profileNames)[number]

/** The path of the request field that takes a pattern or grammar. */
type ConstraintField = readonly [string, ...string[]]

/** The field names and abilities of a kind of server, as data: no other code asks which kind it talks to. */
export type Profile = {
  readonly name: ProfileName
  /** The names of sampling fields beyond OpenAI's; absent ones are refused. */
  readonly fields: {
    readonly topK?: string
    readonly minP?: string
    readonly repetitionPenalty?: string
    readonly repetitionRange?: string
    readonly ignoreEos?: string
    /** With llama.cpp's field names. */
    readonly xtc?: true
    readonly dry?: true
  }
  /** Whether temperature is applied after the samplers that remove tokens: always or never, or as a field says; absent: unknown. */
  readonly temperatureLast?: boolean | { readonly field: string }
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens'
  /** Takes token ids. */
  readonly logitBias: boolean
  /** Takes `n`; otherwise each choice is a request. */
  readonly choices: boolean
  /** Refuses `n` with temperature 0, which gives equal choices. */
  readonly refusesEqualChoices?: true
  readonly logprobs: boolean
  /** Sends no log-probabilities when `top_logprobs` is below this. */
  readonly leastTop?: number
  /** Scores of `rerank` are logits, not probabilities. */
  readonly ranksByLogits?: true
  /** Completions take `suffix`. */
  readonly suffix: boolean
  readonly regex?: ConstraintField
  readonly gbnf?: ConstraintField
  /** Gets constraints as our grammars: its own compiler may crash on a client's schema. */
  readonly takesOurGrammars?: true
  readonly jsonObject: boolean
  readonly jsonSchema: boolean
  /** Whether `required` and a named function are enforced; without names, the one tool is declared alone. */
  readonly toolChoice: 'full' | 'no-names' | 'none'
  /** Takes `parallel_tool_calls`; llama-server's default is false. */
  readonly parallelToolCalls: boolean
  /** Takes OpenAI's fields about the caller, its tier and its cache. */
  readonly forwards?: true
  /** Takes `verbosity`. */
  readonly verbosity?: true
  /** `chat_template_kwargs` reach the template. */
  readonly templateVariables: boolean
  /** Continues a last assistant message: on request, or always. */
  readonly continuation?: 'fields' | 'always'
  /** The field of a choice with the stop sequence that ended it. */
  readonly stopField?: 'stop_reason' | 'matched_stop'
  /**
   * Stop sequences are not sent but found here, and end the request: the server would not report which one it was, but counts
   * tokens in each chunk.
   */
  readonly stopsHere: boolean
  /** Can report usage in each chunk. */
  readonly runningUsage: boolean
  /** Fields of every request. */
  readonly extras: Readonly<Record<string, unknown>>
  /** Whose tokenizer routes it has. */
  readonly tokenizer?: 'vllm' | 'llama-server'
  /** The route of health checks, below the server's root or its OpenAI base. */
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

/** All kinds. docs/engines names the versions that were tested, and the kinds that were not. */
export const profiles: Readonly<Record<ProfileName, Profile>> = {
  openai: { ...plain, forwards: true, verbosity: true },
  vllm: {
    ...plain,
    name: 'vllm',
    temperatureLast: false,
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
    temperatureLast: false,
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
    temperatureLast: true,
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
    // Without progress reports, it notices a closed connection only at the end of the prompt (measured: 9 s).
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
    forwards: true,
    temperatureLast: { field: 'temperature_last' },
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
