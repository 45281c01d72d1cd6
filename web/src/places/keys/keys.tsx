import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { returns } from '../../api/connection.ts'
import { asksForKey, caller, useKey } from '../../api/session.ts'
import { address, go, linkTo } from '../../frame/router.ts'
import { isRunning } from '../../live/request-list.ts'
import { now, requests, useServer } from '../../live/watch.ts'
import type { KeyList, KeyUsage, ListedKey } from '../../live/wire.ts'
import { placeTexts } from '../../texts/places.ts'
import { Button } from '../../ui/button.tsx'
import { Command } from '../../ui/copy.tsx'
import { Confirm, Dialog } from '../../ui/dialog.tsx'
import { Id } from '../../ui/facts.tsx'
import { formatCount, formatTime, fullTime, plural } from '../../ui/numbers.ts'
import { PlaceHead } from '../../ui/place-head.tsx'
import { Empty, Failure } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { wordsOf } from '../activity/request-texts.ts'
import { MakeKey } from './make-key.tsx'

const texts = placeTexts.keys

/** The keys: who may do what, up to which limits. */
export function Keys() {
  useServer()
  const [list, setList] = useState<KeyList>()
  const [used, setUsed] = useState<ReadonlyMap<string, number>>(new Map())
  const [problem, setProblem] = useState<unknown>()
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<{ readonly name: string; readonly key: string }>()
  const [ending, setEnding] = useState<ListedKey>()
  const read = () => {
    setProblem(undefined)
    call<KeyList>('api/keys').then(setList, setProblem)
    // A server without a store has no usage.
    call<KeyUsage>('api/usage').then(
      ({ usage }) => setUsed(tokensByKey(usage)),
      () => undefined,
    )
  }
  useEffect(read, [returns.value])
  const remove = async ({ id, name }: ListedKey) => {
    try {
      await call(`api/keys/${id}`, { method: 'DELETE' })
      if (isOwn(name)) {
        useKey(undefined)
        asksForKey.value = ''
      } else read()
    } catch (error) {
      setProblem(error)
    }
  }
  const { query, parts } = address.value
  const words = wordsOf(query.filter)
  const shown = list?.keys.filter((key) => matches(key, words))
  return (
    <>
      <PlaceHead
        title={texts.title}
        filter={texts.filter}
        {...(list !== undefined && { matters: plural(list.keys.length, 'key') })}
      >
        {list?.required === true && (
          <Button kind="primary" onClick={() => setMaking(true)}>
            {texts.make}
          </Button>
        )}
      </PlaceHead>
      {problem !== undefined && <Failure error={problem} onRetry={read} />}
      {list === undefined && problem !== undefined ? null : list?.keys.length === 0 ? (
        <Empty title={texts.none}>
          <p>{texts.noneWhy}</p>
          {list.why_none !== undefined && <p class="muted">{list.why_none}</p>}
          {list.why_none !== undefined && <Command text={adminExample} what="the command" />}
        </Empty>
      ) : shown?.length === 0 ? (
        <Empty title={texts.noMatch(query.filter ?? '')}>{null}</Empty>
      ) : (
        <div class="place-body flush">
          <Table
            label={texts.label}
            columns={columnsFor(setEnding, used)}
            rows={shown}
            waits={placeTexts.asking.keys}
            idOf={({ id }) => id}
            open={parts[0]}
            onOpen={(id) => go(linkTo('keys', id === undefined ? [] : [id], query))}
            detail={({ id }) => <Id text={id} what={texts.theId} />}
          />
        </div>
      )}
      {isMaking && (
        <MakeKey
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false)
            setMade(key)
            read()
          }}
        />
      )}
      {made !== undefined && (
        <Dialog title={texts.made(made.name)} onClose={() => setMade(undefined)}>
          <div class="stack">
            <Command text={made.key} what={texts.theKey} />
            <p>{texts.once}</p>
            <div class="dialog-end">
              <Button kind="primary" onClick={() => setMade(undefined)}>
                {texts.done}
              </Button>
            </div>
          </div>
        </Dialog>
      )}
      {ending !== undefined && (
        <Confirm
          title={texts.deleteTitle(ending.name ?? ending.id)}
          action={texts.delete}
          onClose={() => setEnding(undefined)}
          onConfirm={() => void remove(ending)}
        >
          <p>{whatEnds(ending)}</p>
          {isOwn(ending.name) && <p>{texts.deleteOwn}</p>}
        </Confirm>
      )}
    </>
  )
}

const adminExample = 'export DRAGOMAN_ADMIN_KEY="$(openssl rand -hex 24)"'

function isOwn(name: string | undefined): boolean {
  return name !== undefined && name === caller.value?.id
}

function whatEnds({ name, id }: ListedKey): string {
  const running = requests.value?.filter((request) => isRunning(request) && request.key === (name ?? `key-${id}`)).length ?? 0
  return running === 0 ? texts.deleteWhy : texts.deleteEnds(plural(running, 'running request'))
}

function matches({ name = '', id, scopes, models = [] }: ListedKey, words: readonly string[]): boolean {
  const all = [name, id, ...scopes, ...models].join(' ').toLowerCase()
  return words.every((word) => all.includes(word))
}

function limitsOf(key: ListedKey): string {
  const { requests_per_minute: some, tokens_per_minute: tokens, tool_calls_per_minute: calls, expires_at: end } = key
  const { tokens_per_day: daily, tokens_per_month: monthly, group } = key
  const parts = [
    some === undefined ? undefined : texts.requests(formatCount(some)),
    tokens === undefined ? undefined : texts.tokens(formatCount(tokens)),
    calls === undefined ? undefined : texts.toolCalls(formatCount(calls)),
    daily === undefined ? undefined : texts.daily(formatCount(daily)),
    monthly === undefined ? undefined : texts.monthly(formatCount(monthly)),
    group === undefined ? undefined : texts.group(group),
    end === undefined ? undefined : texts.ends(new Date(end).toLocaleDateString('en-GB', { dateStyle: 'medium' })),
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? texts.noLimits : parts.join(', ')
}

/** Includes the tools that it may use, if not all. */
function scopesOf({ scopes, tools }: ListedKey): string {
  return scopes.map((scope) => (scope === 'tools' && tools !== undefined ? `tools (${tools.join(', ')})` : scope)).join(', ')
}

function tokensByKey(usage: KeyUsage['usage']): ReadonlyMap<string, number> {
  const tokens = new Map<string, number>()
  for (const { key, input_tokens: input, output_tokens: output } of usage)
    tokens.set(key, (tokens.get(key) ?? 0) + input + output)
  return tokens
}

function columnsFor(end: (key: ListedKey) => void, used: ReadonlyMap<string, number>): readonly Column<ListedKey>[] {
  const { columns } = texts
  const time = (text: string | undefined) => (text === undefined ? '' : formatTime(Date.parse(text), now.value))
  const full = (text: string | undefined) => (text === undefined ? '' : fullTime(Date.parse(text)))
  return [
    { name: columns.name, room: 'small', cell: ({ name }) => name ?? <span class="muted">{texts.unnamed}</span> },
    { name: columns.id, room: 'large', cell: ({ id }) => <code>{id}</code> },
    { name: columns.scopes, room: 'medium', title: scopesOf, cell: scopesOf },
    { name: columns.models, room: 'medium', cell: ({ models }) => models?.join(', ') ?? texts.allModels },
    { name: columns.limits, room: 'small', title: limitsOf, cell: limitsOf },
    {
      name: columns.month,
      room: 'large',
      cell: ({ name, id }) => {
        const tokens = used.get(name ?? `key-${id}`)
        return tokens === undefined ? '' : formatCount(tokens)
      },
    },
    {
      name: columns.used,
      room: 'large',
      title: ({ last_used_at: at }) => full(at),
      cell: ({ last_used_at: at, source }) => (at === undefined ? (source === 'made' ? texts.never : '') : time(at)),
    },
    {
      name: columns.made,
      room: 'large',
      title: ({ created_at: at }) => full(at),
      cell: ({ created_at: at, source, made_by: by }) =>
        source === 'configuration' ? texts.inConfiguration : `${time(at)}${by === undefined ? '' : ` by ${by}`}`,
    },
    {
      name: columns.act,
      room: 'small',
      isAction: true,
      cell: (key) =>
        key.source === 'made' && (
          <Button kind="in-row" of={key.name ?? key.id} onClick={() => end(key)}>
            {texts.delete}
          </Button>
        ),
    },
  ]
}
