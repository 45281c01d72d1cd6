import { useEffect, useState } from 'preact/hooks'
import { call, send } from '../../api/client.ts'
import { returns } from '../../api/connection.ts'
import { linkTo } from '../../frame/router.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { download } from '../../ui/download.ts'
import { formatCount, fullTime } from '../../ui/numbers.ts'
import { StateWord } from '../../ui/state-word.tsx'
import { Failure, Progress } from '../../ui/states.tsx'
import { type FileBatch, type MessageBatch, type ShownBatch, shownBatches } from './batch-list.ts'

const texts = placeTexts.activity.batches
const askEveryMs = 3000

type Page<T> = { readonly data: readonly T[] }

/** The last batches of the caller, with their progress; nothing where there are none. */
export function Batches() {
  const [batches, setBatches] = useState<readonly ShownBatch[]>([])
  const [problem, setProblem] = useState<unknown>()
  const [ending, setEnding] = useState<ShownBatch>()
  const read = async () => {
    const [files, messages] = await Promise.all([
      call<Page<FileBatch>>('v1/batches?limit=10'),
      call<Page<MessageBatch>>('v1/messages/batches?limit=10'),
    ])
    setBatches(shownBatches(files.data, messages.data))
  }
  useEffect(() => {
    // A server without a store has no batches, and an unreachable one has its own line.
    const ask = () => read().then(next, () => undefined)
    let timer: ReturnType<typeof setTimeout> | undefined
    let hasLeft = false
    const next = () => {
      if (!hasLeft) timer = setTimeout(ask, askEveryMs)
    }
    void ask()
    return () => {
      hasLeft = true
      clearTimeout(timer)
    }
  }, [returns.value])
  const attempt = (work: () => Promise<unknown>) => work().then(() => setProblem(undefined), setProblem)
  if (batches.length === 0) return null
  return (
    <section class="batches" aria-label={texts.label}>
      {problem !== undefined && <Failure error={problem} onDone={() => setProblem(undefined)} />}
      <ul>
        {batches.map((batch) => (
          <li key={batch.id}>
            <Line
              batch={batch}
              onStop={() => setEnding(batch)}
              onSave={({ path, name }) => attempt(async () => download(await (await send(path)).blob(), name))}
            />
          </li>
        ))}
      </ul>
      {ending !== undefined && (
        <Confirm
          title={texts.stopTitle}
          action={texts.stop}
          onClose={() => setEnding(undefined)}
          onConfirm={() => void attempt(() => call(ending.cancelPath, { method: 'POST' }).then(read))}
        >
          <p>{texts.ends(formatCount(ending.total - ending.ended))}</p>
        </Confirm>
      )}
    </section>
  )
}

type LineProps = {
  readonly batch: ShownBatch
  readonly onStop: () => unknown
  readonly onSave: (result: ShownBatch['results'][number]) => unknown
}

function Line({ batch, onStop, onSave }: LineProps) {
  const { id, createdAtMs, state, isOpen, total, ended, failed, waits, results } = batch
  const tone = isOpen ? 'run' : state === 'failed' ? 'bad' : /^(completed|ended)$/.test(state) ? 'good' : 'off'
  const progress = texts.progress(formatCount(ended), formatCount(total))
  return (
    <>
      <StateWord tone={tone} text={state.replace('_', ' ')} />
      <a class="batch-name" href={linkTo('activity', [], { filter: `id:${id}` })} title={fullTime(createdAtMs)}>
        {id}
      </a>
      {isOpen && <Progress part={total === 0 ? 0 : ended / total} name={progress} />}
      <span class="muted">
        {progress}
        {failed > 0 && ` · ${texts.failed(formatCount(failed))}`}
        {waits !== undefined && ` · ${waits}`}
      </span>
      {results.map((result) => (
        <Button kind="in-row" key={result.path} onClick={() => onSave(result)}>
          {result.areFailures ? texts.saveFailures : texts.save}
        </Button>
      ))}
      {isOpen && (
        <Button kind="in-row" onClick={onStop}>
          {texts.stop}
        </Button>
      )}
    </>
  )
}
