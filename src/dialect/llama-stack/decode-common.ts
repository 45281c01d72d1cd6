import { AppError } from '../../contract/errors.ts'
import { type GenerationRequest, type OutputConstraint, plainRequest } from '../../contract/request.ts'
import type { Sampling } from '../../contract/sampling.ts'
import { decodeGrammar } from '../wire/decode-grammar.ts'
import { preview } from '../wire/preview.ts'
import type { CommonWire } from './schema.ts'

const defaultTopP = 0.95

type Common = Omit<GenerationRequest, 'id' | 'model' | 'prompt' | 'toolChoice'>

/** The settings that all generating requests share. Throws for a grammar that is not GBNF. */
export function decodeCommon({ sampling_params: params, response_format, logprobs }: CommonWire): Common {
  const { toolChoice: _, ...plain } = plainRequest
  const top = logprobs?.top_k ?? 0
  const limit = params?.max_tokens ?? 0
  return {
    ...plain,
    sampling: decodeSampling(params),
    output: decodeOutput(response_format),
    stop: params?.stop ?? [],
    ...(top > 0 && { logprobs: { top } }),
    ...(limit > 0 && { maxOutputTokens: limit }),
  }
}

function decodeSampling(params: CommonWire['sampling_params']): Sampling {
  if (params === undefined || params === null) return {}
  const { strategy, repetition_penalty: penalty } = params
  return { ...decodeStrategy(strategy), ...(typeof penalty === 'number' && { repetitionPenalty: penalty }) }
}

function decodeStrategy(strategy: NonNullable<CommonWire['sampling_params']>['strategy']): Sampling {
  switch (strategy?.type) {
    case undefined:
    case 'greedy':
      return { temperature: 0 }
    case 'top_p': {
      const { temperature, top_p: topP } = strategy
      return { ...(typeof temperature === 'number' && { temperature }), topP: topP ?? defaultTopP }
    }
    case 'top_k':
      return { topK: strategy.top_k }
  }
}

function decodeOutput(format: CommonWire['response_format']): OutputConstraint {
  switch (format?.type) {
    case undefined:
      return { type: 'text' }
    case 'json_schema':
      return { type: 'json-schema', schema: format.json_schema, strict: false }
    case 'grammar':
      return decodeBnf(format.bnf)
  }
}

function decodeBnf(bnf: string | object): OutputConstraint {
  const param = 'response_format.bnf'
  if (typeof bnf === 'object') {
    const message = `${param} ${preview(bnf)} is not supported as an object: send a grammar in GBNF, Lark or KBNF, as a string`
    throw new AppError('unsupported-field', message, { param })
  }
  return decodeGrammar(bnf, param)
}
