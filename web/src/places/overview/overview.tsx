import type { ComponentChildren } from 'preact'
import { allows } from '../../api/session.ts'
import { linkTo } from '../../frame/router.ts'
import { beginAgain, deviceSamples, refusal, samples, server, useServer } from '../../live/watch.ts'
import type { Device, LoadSample } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { formatBytes, formatCount, formatMs, formatRate } from '../../ui/numbers.ts'
import { PlaceHead } from '../../ui/place-head.tsx'
import { Empty, Failure, Waiting } from '../../ui/states.tsx'
import { Memory, memoryOfDevice } from '../models/memory.tsx'
import { Chart } from './chart.tsx'

const texts = placeTexts.overview

/** The load of the server in the last hour, and now. */
export function Overview() {
  useServer()
  const all = samples.value
  const last = all.at(-1)
  const state = server.value
  return (
    <>
      <PlaceHead
        title={texts.title}
        {...(last !== undefined && last.running > 0 && { matters: placeTexts.running(last.running) })}
      />
      {refusal.value !== undefined ? (
        <div class="place-body">
          <Failure error={refusal.value} onRetry={beginAgain} />
        </div>
      ) : last === undefined ? (
        state === undefined && allows('inference') ? (
          <Waiting what={placeTexts.asking.load} />
        ) : (
          <Empty title={texts.none}>
            <p>{texts.noneWhy}</p>
          </Empty>
        )
      ) : (
        <div class="place-body">
          <div class="plots">
            <TokenPlot all={all} last={last} />
            <RequestPlot all={all} last={last} />
            <FirstTokenPlot all={all} />
            <MemoryPlot all={all} last={last} budget={state?.memory?.budget_bytes} />
            {state?.devices !== undefined && state.devices.length > 0 && <DevicePlot devices={state.devices} />}
          </div>
        </div>
      )}
    </>
  )
}

type PlotProps = { readonly all: readonly LoadSample[]; readonly last: LoadSample }

function Plot({ title, now, children }: { readonly title: string; readonly now: string; readonly children: ComponentChildren }) {
  return (
    <section class="plot" aria-label={title}>
      <h2>{title}</h2>
      <p class="plot-now">{now}</p>
      {children}
    </section>
  )
}

function TokenPlot({ all, last }: PlotProps) {
  const lines = [
    { name: texts.output, values: all.map(({ output_tokens_per_second: rate }) => rate) },
    { name: texts.input, values: all.map(({ input_tokens_per_second: rate }) => rate) },
  ]
  return (
    <Plot title={texts.tokens} now={formatRate(last.output_tokens_per_second)}>
      <Chart title={texts.tokens} times={all.map(({ at_ms: at }) => at)} lines={lines} format={formatRate} />
    </Plot>
  )
}

function RequestPlot({ all, last }: PlotProps) {
  const lines = [
    { name: texts.running, values: all.map(({ running }) => running) },
    { name: texts.waiting, values: all.map(({ waiting }) => waiting) },
    { name: texts.failed, values: all.map(({ failed }) => failed) },
  ]
  const now = `${last.running} ${texts.running}, ${last.waiting} ${texts.waiting}`
  return (
    <Plot title={texts.requests} now={now}>
      <Chart title={texts.requests} times={all.map(({ at_ms: at }) => at)} lines={lines} format={formatCount} />
      {allows('inference') && <a href={linkTo('activity')}>{texts.seeActivity}</a>}
    </Plot>
  )
}

function FirstTokenPlot({ all }: Pick<PlotProps, 'all'>) {
  const lines = [
    { name: texts.median, values: all.map(({ first_token_ms: ms }) => ms) },
    { name: texts.slow, values: all.map(({ slow_first_token_ms: ms }) => ms) },
  ]
  const newest = all.findLast(({ first_token_ms: ms }) => ms !== undefined)?.first_token_ms
  return (
    <Plot title={texts.firstToken} now={newest === undefined ? texts.noFirst : formatMs(newest)}>
      <Chart title={texts.firstToken} times={all.map(({ at_ms: at }) => at)} lines={lines} format={formatMs} />
    </Plot>
  )
}

function MemoryPlot({ all, last, budget }: PlotProps & { readonly budget: number | undefined }) {
  const lines = [
    { name: texts.models, values: all.map(({ model_bytes: bytes }) => bytes) },
    { name: texts.process, values: all.map(({ process_bytes: bytes }) => bytes) },
  ]
  const models = server.value?.models ?? []
  const ready = models.filter(({ state }) => state === 'ready').length
  return (
    <Plot
      title={texts.memory}
      now={`${formatBytes(last.model_bytes)}${budget === undefined ? '' : ` ${texts.budget(formatBytes(budget))}`}`}
    >
      <Chart title={texts.memory} times={all.map(({ at_ms: at }) => at)} lines={lines} format={formatBytes} />
      {models.length > 0 && (
        <a href={linkTo('models')}>
          {texts.seeModels}: {texts.ready(ready, models.length)}
        </a>
      )}
    </Plot>
  )
}

/** More lines would look alike, so one shows their sum. */
const mostDeviceLines = 3

function DevicePlot({ devices }: { readonly devices: readonly Device[] }) {
  const all = deviceSamples.value
  const usedOf = (some: readonly Device[]) => some.reduce((sum, device) => sum + device.total_bytes - device.free_bytes, 0)
  const named = (name: string) => all.map((sample) => usedOf(sample.devices.filter((device) => device.name === name)))
  const lines =
    devices.length > mostDeviceLines
      ? [{ name: texts.allDevices, values: all.map((sample) => usedOf(sample.devices)) }]
      : devices.map(({ name }) => ({ name, values: named(name) }))
  return (
    <Plot title={texts.deviceMemory} now={`${formatBytes(usedOf(devices))} ${texts.sinceOpened}`}>
      <Chart title={texts.deviceMemory} times={all.map(({ at_ms: at }) => at)} lines={lines} format={formatBytes} />
      {devices.map((device) => (
        <Memory key={device.name} {...memoryOfDevice(device)} />
      ))}
    </Plot>
  )
}
