import type { SamplerName } from '../contract/sampling.ts'

const cuts = ['top-n-sigma', 'top-k', 'top-a', 'tail-free', 'typical', 'top-p', 'min-p', 'xtc'] as const

/** The default order: llama.cpp's, with further samplers where KoboldCpp has them. */
export const samplerOrder = ['penalties', 'dry', ...cuts, 'temperature', 'smoothing'] as const satisfies readonly SamplerName[]

/** The default order with the temperature in front of the samplers that remove tokens. */
export const temperatureFirst: readonly SamplerName[] = ['penalties', 'dry', 'temperature', 'smoothing', ...cuts]
