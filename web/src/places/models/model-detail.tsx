import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { allows } from '../../api/session.ts'
import { requests } from '../../live/watch.ts'
import type { Model, Replica, WatchedRequest } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Fact, IdFact } from '../../ui/facts.tsx'
import { formatBytes, formatCount, formatTime, fullTime, plural } from '../../ui/numbers.ts'
import { StateWord } from '../../ui/state-word.tsx'
import { Failure } from '../../ui/states.tsx'
import { ModelFile } from './model-file.tsx'

const texts = placeTexts.models

/** The detail of a row: facts, and the servers of a fleet. */
export function ModelDetail({ model, nowMs }: { readonly model: Model; readonly nowMs: number }) {
  const { facts } = texts
  const {
    aliases,
    engine,
    runs_on: runsOn,
    quantization,
    file_bytes: file,
    native_context_length: native,
    unloads_at_ms: unloads,
    reason,
  } = model
  return (
    <>
      <dl class="fact-list">
        <IdFact name={facts.id} id={model.id} />
        {reason !== undefined && (
          <Fact name={facts.failure}>
            <span class="bad">{reason}</span>
          </Fact>
        )}
        {aliases.length > 0 && <Fact name={facts.aliases}>{aliases.join(', ')}</Fact>}
        {engine !== undefined && <Fact name={facts.engine}>{engine}</Fact>}
        {runsOn !== undefined && <Fact name={facts.runsOn}>{runsOn}</Fact>}
        {file !== undefined && <Fact name={facts.file}>{[quantization, formatBytes(file)].filter(Boolean).join(', ')}</Fact>}
        {native !== undefined && <Fact name={facts.native}>{texts.tokens(formatCount(native))}</Fact>}
        {unloads !== undefined && (
          <Fact name={facts.unloads}>
            <span title={fullTime(unloads)}>
              {new Date(unloads) < new Date(nowMs) ? formatTime(unloads, nowMs) : timeAhead(unloads)}
            </span>
          </Fact>
        )}
      </dl>
      {file !== undefined && allows('admin') && <ModelFile key={model.id} model={model} />}
      {model.servers !== undefined && <Servers model={model.id} servers={model.servers} />}
    </>
  )
}

function timeAhead(atMs: number): string {
  return new Date(atMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
}

const tones = { healthy: 'good', half_open: 'warn', unhealthy: 'bad', draining: 'off' } as const

function Servers({ model, servers }: { readonly model: string; readonly servers: readonly Replica[] }) {
  const [draining, setDraining] = useState<Replica>()
  const [problem, setProblem] = useState<unknown>()
  const mayDrain = allows('admin')
  const change = ({ host }: Replica, act: 'drain' | 'undrain') => {
    setProblem(undefined)
    call(`api/inference/replicas/${act}`, { body: { model, url: host } }).catch(setProblem)
  }
  const { serverColumns: columns } = texts
  return (
    <>
      {problem !== undefined && <Failure error={problem} />}
      <div class="scrolls">
        <table class="table inner" aria-label={texts.servers}>
          <thead>
            <tr>
              <th scope="col">{columns.host}</th>
              <th scope="col">{columns.state}</th>
              <th scope="col" class="number">
                {columns.running}
              </th>
              <th scope="col" class="number">
                {columns.cache}
              </th>
              <th scope="col">{columns.kind}</th>
              {mayDrain && (
                <th scope="col" class="act">
                  <span class="unseen">{columns.act}</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {servers.map((replica) => (
              <tr key={replica.host}>
                <td class="mono">{replica.host}</td>
                <td title={replica.last_failure ?? ''}>
                  <StateWord tone={tones[replica.state]} text={texts.serverState[replica.state]} />
                </td>
                <td class="number">{replica.running}</td>
                <td class="number">{cacheText(replica.host, requests.value ?? [])}</td>
                <td>{kindText(replica)}</td>
                {mayDrain && (
                  <td class="act">
                    <Button
                      kind="in-row"
                      of={replica.host}
                      onClick={() => (replica.state === 'draining' ? change(replica, 'undrain') : setDraining(replica))}
                    >
                      {replica.state === 'draining' ? texts.undrain : texts.drain}
                    </Button>
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {draining !== undefined && (
        <Confirm
          title={texts.drainTitle(draining.host)}
          action={texts.drain}
          onClose={() => setDraining(undefined)}
          onConfirm={() => change(draining, 'drain')}
        >
          <p>{texts.drainWhy(plural(draining.running, 'running request'))}</p>
        </Confirm>
      )}
    </>
  )
}

/** Some versions begin with the name of their server. */
function kindText({ kind = '', version = '' }: Replica): string {
  return version.startsWith(kind) ? version : `${kind} ${version}`.trim()
}

/** The share of the prompts that a server had in its cache, over the requests that this page knows. */
function cacheText(host: string, all: readonly WatchedRequest[]): string {
  let read = 0
  let cached = 0
  for (const { served_by: server, input_tokens: input = 0, cached_tokens: hit = 0 } of all) {
    if (server !== host) continue
    read += input
    cached += hit
  }
  return read === 0 ? '' : texts.cached(Math.round((100 * cached) / read), formatCount(read))
}
