import { useEffect, useState } from 'preact/hooks'
import type { WireLoadEstimate } from '../../../../src/dialect/own/replies.ts'
import { call, describe } from '../../api/client.ts'
import { placeTexts } from '../../texts/places.ts'
import { formatBytes, formatCount } from '../../ui/numbers.ts'
import { Waiting } from '../../ui/states.tsx'

const texts = placeTexts.models.ofFile

/** The memory of the load, and what would fit. */
export function Estimate({ plan }: { readonly plan: WireLoadEstimate }) {
  const { memory_bytes: bytes, budget_bytes: budget, gpu_bytes: gpu, longest, layers, max_context_length: trained } = plan
  if (bytes === undefined) return <p class="small muted">{texts.unknown}</p>
  const isTooMuch = bytes > budget
  const parts = [
    texts.memory(formatBytes(bytes), formatBytes(budget)),
    gpu === undefined ? '' : texts.onGpu(formatBytes(gpu)),
    trained === undefined ? '' : texts.trained(formatCount(trained)),
    layers === undefined ? '' : texts.layers(layers),
  ]
  return (
    <div role="status" class="small">
      <p class={isTooMuch ? 'bad' : ''}>{parts.filter((part) => part !== '').join(' · ')}</p>
      {isTooMuch && (
        <p>
          {longest.length === 0
            ? texts.nothingFits
            : texts.fits(longest.map((fit) => texts.fit(formatCount(fit.context_length), fit.slots)).join(', or '))}
        </p>
      )}
    </div>
  )
}

type AheadProps = { readonly name: string; readonly quietMs?: number }

/** The size and the memory of a model that is not fetched yet. */
export function Ahead({ name, quietMs = 0 }: AheadProps) {
  const [plan, setPlan] = useState<WireLoadEstimate>()
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const timer = setTimeout(() => {
      call<WireLoadEstimate>(`api/load-estimate?model=${encodeURIComponent(name)}`, { signal }).then(setPlan, (error) => {
        if (!signal.aborted) setProblem(describe(error))
      })
    }, quietMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [name])
  if (problem !== undefined) return <p class="small muted">{problem}</p>
  if (plan === undefined) return <Waiting what={placeTexts.models.ahead.asking} />
  const { size_bytes: size, context_length: context } = plan
  return (
    <div class="small">
      <p>{placeTexts.models.ahead.files(formatBytes(size), context === undefined ? undefined : formatCount(context))}</p>
      <Estimate plan={plan} />
    </div>
  )
}
