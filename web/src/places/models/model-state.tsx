import { server } from '../../live/watch.ts'
import type { Load, Model } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { formatBytes } from '../../ui/numbers.ts'
import { StateWord } from '../../ui/state-word.tsx'
import { Progress } from '../../ui/states.tsx'

const texts = placeTexts.models
const tones = { ready: 'good', stopped: 'off', starting: 'run', loading: 'run', draining: 'run', failed: 'bad' } as const

/** A model that waits for its load is more than stopped. */
export function stateOf(model: Model): Model['state'] {
  return model.state === 'stopped' && loadOf(model) !== undefined ? 'starting' : model.state
}

function loadOf({ id }: Model): Load | undefined {
  return server.value?.loads.find(({ model }) => model === id)
}

/** The state in a word; while it is loading, with its progress. */
export function ModelState({ model }: { readonly model: Model }) {
  const load = loadOf(model)
  const state = stateOf(model)
  const part = load?.fraction ?? model.progress
  const isUnderWay = tones[state] === 'run'
  const text =
    isUnderWay && load !== undefined
      ? `${texts.phase[load.phase]}${sizeText(load)}`
      : `${texts.state[state]}${isUnderWay && part !== undefined ? ` ${Math.round(part * 100)} %` : ''}`
  return (
    <>
      <StateWord tone={tones[state]} text={text} />
      {isUnderWay && part !== undefined && <Progress part={part} name={`${model.id}: ${text}`} />}
    </>
  )
}

function sizeText({ phase, done_bytes: done, total_bytes: total, fraction }: Load): string {
  if (phase === 'downloading' && total > 0) return ` ${formatBytes(done)} of ${formatBytes(total)}`
  return fraction > 0 ? ` ${Math.round(fraction * 100)} %` : ''
}
