import { pino } from 'pino'
import { expect, test } from 'vitest'
import { shareOver, startPrimary } from '../../../test/support/process/primary.ts'
import { PresetSwitch } from '../../core/presets/preset-switch.ts'
import { readPreset } from '../../dialect/presets/read-preset.ts'
import { Drains } from './drains.ts'
import { SharedChoices } from './shared-choices.ts'

/** Opens the choices of processes, each of which has this preset in its configuration. */
function startServer() {
  const join = startPrimary()
  return async (configured?: string) => {
    const named = ['calm', 'wild'].map((name) => [name, readPreset({}, name)] as const)
    const presets = new PresetSwitch(new Map(named), configured)
    const drains = new Drains()
    const { documents } = shareOver(join().primary)
    const log = pino({ level: 'silent' })
    const parts = {
      documents,
      serverDocuments: documents,
      presets,
      drains,
      configuredPreset: () => configured,
      engines: () => [],
      log,
    }
    const choices = await SharedChoices.open(parts)
    return { choices, drains, presetInUse: () => presets.inUse?.name }
  }
}

test('a preset is used by all, and by those that start later, unless their configuration has another one since', async () => {
  const start = startServer()
  const [one, two] = [await start('calm'), await start('calm')]
  await one.choices.presetChosen({ type: 'named', name: 'wild' })
  expect([one, two, await start('calm')].map(({ presetInUse }) => presetInUse())).toEqual(['wild', 'wild', 'wild'])
  expect((await start()).presetInUse()).toBeUndefined()
  await two.choices.presetChosen({ type: 'none' })
  expect([one, two].map(({ presetInUse }) => presetInUse())).toEqual([undefined, undefined])
})

test('a server is taken out of use by all, and by those that start later', async () => {
  const start = startServer()
  const [one, two] = [await start(), await start()]
  const drained = ({ drains }: typeof one) => ['a', 'b', 'c'].filter((url) => drains.of('m').has(url))
  await one.choices.serversDrained({ model: 'm', urls: ['a', 'b'], isDraining: true })
  await two.choices.serversDrained({ model: 'other', urls: ['c'], isDraining: true })
  expect([one, two].map(drained)).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
  await two.choices.serversDrained({ model: 'm', urls: ['a'], isDraining: false })
  expect([one, two, await start()].map(drained)).toEqual([['b'], ['b'], ['b']])
})
