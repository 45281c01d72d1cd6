import { describe, expect, test } from 'vitest'
import type { Sampling } from '../../../contract/sampling.ts'
import { readFileSampling } from './file-sampling.ts'

describe('readFileSampling', () => {
  test.each<[unknown, Sampling]>([
    [undefined, {}],
    [{}, {}],
    [
      { temp: Math.fround(0.6), top_k: 20, top_p: Math.fround(0.95), min_p: 0 },
      { temperature: 0.6, topK: 20, topP: 0.95, minP: 0 },
    ],
    [{ temp: 0 }, { temperature: 0 }],
    [
      { temp: '0.7', top_k: ' 5' },
      { temperature: 0.7, topK: 5 },
    ],
    [{ top_k: -1 }, { topK: 0 }],
    [{ xtc_probability: 0.5, xtc_threshold: Math.fround(0.1) }, { xtc: { probability: 0.5, threshold: 0.1 } }],
    [
      { penalty_repeat: 1.5, penalty_last_n: 64 },
      { repetitionPenalty: 1.5, repetitionRange: 64 },
    ],
    [{ mirostat: 2, mirostat_tau: 5, mirostat_eta: 0.1 }, { mirostat: { version: 2, tau: 5, eta: 0.1 } }],
    [{ sequence: 'penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature' }, {}],
    [
      { sequence: 'top-k;top_p;temp', min_p: 0.2, top_k: 3 },
      { topK: 3, minP: 0, repetitionPenalty: 1, dry: { multiplier: 0 }, xtc: { probability: 0 } },
    ],
  ])('%j is read without a note', (metadata, sampling) => {
    expect(readFileSampling(metadata)).toEqual({ sampling, notes: [] })
  })

  test('64-bit integers are read', () => {
    expect(readFileSampling({ top_k: 5n })).toEqual({ sampling: { topK: 5 }, notes: [] })
  })

  test.each<[object, Sampling, RegExp]>([
    [{ temp: -1, top_k: 3 }, { topK: 3 }, /temp is -1/],
    [{ top_p: 'high' }, {}, /top_p is high/],
    [{ min_p: Number.NaN }, {}, /min_p is NaN/],
    [{ top_k: 1.5 }, {}, /top_k is 1.5/],
    [{ penalty_repeat: 0 }, {}, /penalty_repeat is 0/],
    [{ mirostat: 3, temp: 0.5 }, { temperature: 0.5 }, /mirostat is 3/],
    [{ typical_q: 1 }, {}, /typical_q is unknown/],
    [{ constructor: 1 }, {}, /constructor is unknown/],
    [{ sequence: 'penalties;dry;temperature;top_k;top_p;min_p;xtc' }, {}, /order of samplers is fixed/],
    [{ sequence: 'penalties;dry;top_k;top_p;min_p;xtc;temperature;adaptive' }, {}, /sampler 'adaptive'/],
  ])('%j is noted where it is not supported', (metadata, sampling, note) => {
    const read = readFileSampling(metadata)
    expect(read.sampling).toEqual(sampling)
    expect(read.notes).toEqual([expect.stringMatching(note)])
  })
})
