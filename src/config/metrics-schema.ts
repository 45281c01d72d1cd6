import { z } from 'zod'

const dialects = ['vllm'] as const

export type MetricDialect = (typeof dialects)[number]

export const metrics = z
  .strictObject({
    dialects: z
      .array(z.enum(dialects))
      .default([])
      .describe("Whose names the metrics have besides Dragoman's own: `vllm`, for dashboards and gateways that know those."),
  })
  .describe('What `GET /metrics` serves.')
