/** Sampling options. An absent field means the model's default; 0 and 1 are values. */
export type Sampling = {
  /** 0 is greedy. */
  readonly temperature?: number
  readonly topP?: number
  /** 0 keeps every token. */
  readonly topK?: number
  readonly minP?: number
  /** The same seed and request give the same text on the same engine; absent means random. */
  readonly seed?: number
  /** Divides the logits of tokens in the prompt and the output (CTRL paper, section 4.1); 1 is off. */
  readonly repetitionPenalty?: number
  /** The tokens that the repetition penalty covers, counted from the end; -1: the whole context; 0: none. */
  readonly repetitionRange?: number
  /** Subtracted once from the logit of each token already in the output (OpenAI). */
  readonly presencePenalty?: number
  /** Subtracted once per occurrence in the output (OpenAI). */
  readonly frequencyPenalty?: number
  /** Whether the temperature is applied after the samplers that remove tokens; absent: the engine's order. */
  readonly temperatureLast?: boolean
  /** Token id to a value added to its logit; -100 forbids, 100 forces. */
  readonly logitBias?: ReadonlyMap<number, number>
  readonly xtc?: { readonly probability?: number; readonly threshold?: number }
  readonly dry?: {
    /** 0 or absent is off. */
    readonly multiplier?: number
    readonly base?: number
    readonly allowedLength?: number
    /** The recent tokens to search; -1: the whole context. */
    readonly range?: number
    readonly sequenceBreakers?: readonly string[]
  }
  /** Keeps the tokens with the most typical surprise, up to this share of the distribution; 1 is off. */
  readonly typicalP?: number
  /** Keeps the tokens whose logit is at most this many standard deviations below the highest; 0 is off. */
  readonly topNSigma?: number
  /** The temperature is up to `range` lower where one token is probable, and up to `range` higher where many are; 0 is off. */
  readonly dynamicTemperature?: { readonly range?: number; readonly exponent?: number }
  /** Keeps the surprise of tokens near `tau`, instead of the samplers that remove tokens; version 0 is off. */
  readonly mirostat?: { readonly version?: number; readonly tau?: number; readonly eta?: number }
  /** Prefers tokens whose probability is near `target`; below 0 is off. */
  readonly adaptiveP?: { readonly target?: number; readonly decay?: number }
  /** Keeps the tokens that are at least this share of the square of the highest probability; 0 is off. */
  readonly topA?: number
  /** Tail-free: removes the tokens where the curve of the probabilities flattens, by this share of its curvature; 0 and 1 are off. */
  readonly tailFree?: number
  /** Bends the logits towards the highest one, by their squared distance (`curve` 1) or also its cube; factor 0 is off. */
  readonly smoothing?: { readonly factor?: number; readonly curve?: number }
  /** Moves the draw towards less probable tokens, or below 0 towards more probable ones; 0 is off. */
  readonly skew?: number
  /** The repetition penalty fades over this many tokens before its range; 0 is off. */
  readonly repetitionDecay?: number
  /** The order of the samplers; absent: the engine's, with `temperatureLast`. */
  readonly samplerOrder?: readonly SamplerName[]
  /** Only these tokens can be chosen. */
  readonly allowedTokens?: readonly number[]
  /** Tokens that end the output and are not part of it. */
  readonly stopTokens?: readonly number[]
  /** Strings that the output must not contain, ignoring case. */
  readonly bannedStrings?: readonly string[]
  /** The output ends when its last `loopWindow` tokens repeat a pattern; 0 and 1 are off. */
  readonly loopWindow?: number
  /** The output begins with a token that extends the text of the prompt's last one; only the extension is new. */
  readonly healsTokens?: boolean
  /** Moves the output away from the continuation of the negative prompt (absent: an empty one), by this scale; 1 is off. */
  readonly guidance?: { readonly scale?: number; readonly negativePrompt?: string }
}

/** The samplers whose order a caller may choose. */
export type SamplerName =
  | 'penalties'
  | 'dry'
  | 'top-n-sigma'
  | 'top-k'
  | 'top-a'
  | 'tail-free'
  | 'typical'
  | 'top-p'
  | 'min-p'
  | 'xtc'
  | 'temperature'
  | 'smoothing'
