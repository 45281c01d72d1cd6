import type { FastifyInstance } from 'fastify'
import type { PresetChoice } from '../../../contract/server/sampling-preset.ts'
import { encodeOpenaiError } from '../../../dialect/openai/errors.ts'
import { decodePresetSwitch, decodePresetUnload, encodePresets } from '../../../dialect/presets/switch-request.ts'
import type { Generating, Operating, Watching } from '../../run/deps.ts'
import { createBodilessCallHandler, createCallHandler } from '../../run/serve-call.ts'

/** tabbyAPI's routes for sampler overrides. Reading needs no admin scope, so that callers can see what changed their requests. */
export function addPresetRoutes(app: FastifyInstance, deps: Generating & Watching & Operating): void {
  const { presets, choices } = deps
  const choose = async (choice: PresetChoice) => {
    presets.choose(choice)
    await choices?.presetChosen(choice)
    return encodePresets(presets)
  }
  const reading = { config: { scope: 'inference', encodeError: encodeOpenaiError } } as const
  const changing = { config: { scope: 'admin', encodeError: encodeOpenaiError } } as const

  for (const url of ['/v1/sampling/overrides', '/v1/sampling/override/list']) app.get(url, reading, () => encodePresets(presets))
  app.post(
    '/v1/sampling/override/switch',
    changing,
    createCallHandler(deps, (body) => {
      const choice = decodePresetSwitch(body)
      const run = () => choose('name' in choice ? { type: 'named', name: choice.name } : { type: 'own', preset: choice.own })
      return { ignored: choice.ignored, run }
    }),
  )
  app.post(
    '/v1/sampling/override/unload',
    changing,
    createBodilessCallHandler(deps, (body) => {
      return { ignored: decodePresetUnload(body).ignored, run: () => choose({ type: 'none' }) }
    }),
  )
}
