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
  /** How many of the last tokens the repetition penalty looks at; -1 is the whole context, 0 is none. */
  readonly repetitionRange?: number
  /** Subtracted once from the logit of each token already in the output (OpenAI). */
  readonly presencePenalty?: number
  /** Subtracted once per occurrence in the output (OpenAI). */
  readonly frequencyPenalty?: number
  /** Whether temperature is applied after the samplers that remove tokens; absent: as the engine does. */
  readonly temperatureLast?: boolean
  /** Token id to a value added to its logit; -100 forbids, 100 forces. */
  readonly logitBias?: ReadonlyMap<number, number>
  readonly xtc?: { readonly probability?: number; readonly threshold?: number }
  readonly dry?: {
    /** 0 or absent is off. */
    readonly multiplier?: number
    readonly base?: number
    readonly allowedLength?: number
    /** How many recent tokens are searched; -1 is the whole context. */
    readonly range?: number
    readonly sequenceBreakers?: readonly string[]
  }
  /** Keeps the tokens whose surprise is the most usual, up to this share of the distribution; 1 is off. */
  readonly typicalP?: number
  /** Keeps the tokens whose logit is at most so many standard deviations below the highest; 0 is off. */
  readonly topNSigma?: number
  /** The temperature is up to `range` lower where one token is probable, and up to `range` higher where many are; 0 is off. */
  readonly dynamicTemperature?: { readonly range?: number; readonly exponent?: number }
  /** Keeps the surprise of tokens near `tau`, instead of the samplers that remove tokens; version 0 is off. */
  readonly mirostat?: { readonly version?: number; readonly tau?: number; readonly eta?: number }
  /** Prefers tokens whose probability is near `target`; below 0 is off. */
  readonly adaptiveP?: { readonly target?: number; readonly decay?: number }
  /** Keeps the tokens that are at least this share of the square of the highest probability; 0 is off. */
  readonly topA?: number
  /** Tail-free: removes the tokens from where the curve of the probabilities is flat, by this share of its bends; 0 and 1 are off. */
  readonly tailFree?: number
  /** Bends the logits towards the highest one, by their squared distance (`curve` 1) or also its cube; factor 0 is off. */
  readonly smoothing?: { readonly factor?: number; readonly curve?: number }
  /** Moves the draw towards less probable tokens, or below 0 towards more probable ones; 0 is off. */
  readonly skew?: number
  /** Over so many tokens before its range, the repetition penalty fades; 0 is off. */
  readonly repetitionDecay?: number
  /** The order of the samplers; absent: the engine's, with `temperatureLast`. */
  readonly samplerOrder?: readonly SamplerName[]
  /** No other tokens are chosen. */
  readonly allowedTokens?: readonly number[]
  /** They end the output, and are not part of it. */
  readonly stopTokens?: readonly number[]
  /** The output has none of these strings, in letters of either case. */
  readonly bannedStrings?: readonly string[]
  /** The output ends when its last tokens, so many, are one pattern twice or more; 0 and 1 are off. */
  readonly loopWindow?: number
  /** The output begins with a token that begins with the text of the prompt's last one; only what it adds is new. */
  readonly healsTokens?: boolean
  /** Moves the output away from what follows the negative prompt (absent: an empty one), by so much; scale 1 is off. */
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
