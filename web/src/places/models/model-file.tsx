import { useEffect, useState } from 'preact/hooks'
import type { WireModelFile } from '../../../../src/dialect/own/replies.ts'
import { call } from '../../api/client.ts'
import { returns } from '../../api/connection.ts'
import type { Model } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Fact, IdFact } from '../../ui/facts.tsx'
import { formatBytes } from '../../ui/numbers.ts'
import { say } from '../../ui/said.tsx'
import { Failure } from '../../ui/states.tsx'
import { Estimate } from './estimate.tsx'

const texts = placeTexts.models.ofFile

type Setting = 'context_length' | 'slots' | 'gpu_layers'
type Chosen = Readonly<Partial<Record<Setting, string>>>

/** Nobody types that fast. */
const quietMs = 200

/** Where a model's file is; loading it with other settings, with the memory that they take; and deleting it. */
export function ModelFile({ model }: { readonly model: Model }) {
  const [chosen, setChosen] = useState<Chosen>({})
  const [plan, setPlan] = useState<WireModelFile>()
  const [problem, setProblem] = useState<unknown>()
  const [isDeleting, setDeleting] = useState(false)
  const query = new URLSearchParams({ model: model.id, ...chosen }).toString()
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const ask = () =>
      call<WireModelFile>(`api/model-file?${query}`, { signal }).then(
        (next) => {
          setPlan(next)
          setProblem(undefined)
        },
        (error) => {
          if (!signal.aborted) setProblem(error)
        },
      )
    const timer = setTimeout(ask, quietMs)
    return () => {
      clearTimeout(timer)
      leaving.abort()
    }
  }, [query, returns.value])
  const act = async (work: () => Promise<void>) => {
    setProblem(undefined)
    await work().catch(setProblem)
  }
  const load = () =>
    act(async () => {
      const { context_length: context, slots, gpu_layers: layers } = chosen
      await call('api/inference/load', {
        body: {
          model_path: model.id,
          ...(context !== undefined && { max_seq_length: Number(context) }),
          ...(slots !== undefined && { n_parallel: Number(slots) }),
          ...(layers !== undefined && { gpu_layers: Number(layers) }),
        },
      })
    })
  const remove = () =>
    act(async () => {
      const { freed_bytes: freed } = await call<{ readonly freed_bytes: number }>(
        `api/model-file?model=${encodeURIComponent(model.id)}`,
        { method: 'DELETE' },
      )
      say(texts.deleted(formatBytes(freed)))
    })
  return (
    <section class="model-file" aria-label={texts.title}>
      {problem !== undefined && <Failure error={problem} />}
      {plan !== undefined && (
        <>
          <dl class="fact-list">
            <Fact name={texts.source}>{plan.source}</Fact>
            <IdFact name={texts.path} id={plan.path} />
          </dl>
          <form
            class="load-with"
            onSubmit={(event) => {
              event.preventDefault()
              void load()
            }}
          >
            <Field name="context_length" hint={plan.context_length} chosen={chosen} onChange={setChosen} least={1} />
            <Field name="slots" hint={plan.slots} chosen={chosen} onChange={setChosen} least={1} />
            <Field
              name="gpu_layers"
              hint={texts.auto}
              chosen={chosen}
              onChange={setChosen}
              least={0}
              {...(plan.layers !== undefined && { most: plan.layers })}
            />
            <Button>{texts.loadWith}</Button>
          </form>
          <Estimate plan={plan} />
          {plan.fetched && <Button onClick={() => setDeleting(true)}>{texts.delete(formatBytes(plan.size_bytes))}</Button>}
          {isDeleting && (
            <Confirm
              title={texts.deleteTitle(model.id)}
              action={texts.deleteIt}
              onClose={() => setDeleting(false)}
              onConfirm={() => void remove()}
            >
              <p>{texts.deleteWhat(formatBytes(plan.size_bytes), plan.path)}</p>
              <p>{model.added === true ? texts.deleteAdded : texts.deleteConfigured}</p>
            </Confirm>
          )}
        </>
      )}
    </section>
  )
}

type FieldProps = {
  readonly name: Setting
  readonly hint: number | string | undefined
  readonly chosen: Chosen
  readonly onChange: (chosen: Chosen) => void
  readonly least: number
  readonly most?: number
}

function Field({ name, hint = '', chosen, onChange, least, most }: FieldProps) {
  const change = (text: string) => {
    const { [name]: _, ...others } = chosen
    onChange(text === '' ? others : { ...others, [name]: text })
  }
  return (
    <label class="labelled">
      <span>{texts.names[name]}</span>
      <input
        class="field"
        type="number"
        inputMode="numeric"
        min={least}
        max={most}
        placeholder={String(hint)}
        value={chosen[name] ?? ''}
        onInput={(event) => change(event.currentTarget.value)}
      />
    </label>
  )
}
