import { Button, IconButton } from '../../ui/button.tsx'
import '../../styles/attachments.css'
import '../../styles/chat.css'
import '../../styles/markdown.css'
import '../../styles/messages.css'
import type { Signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { describe } from '../../api/client.ts'
import { address, go, linkTo, setQuery } from '../../frame/router.ts'
import { useShortcuts } from '../../frame/shortcuts.ts'
import { chatTexts } from '../../texts/chat.ts'
import { useBack } from '../../ui/back.ts'
import { Boundary } from '../../ui/boundary.tsx'
import { Command } from '../../ui/copy.tsx'
import { type IconName, icons } from '../../ui/icons.tsx'
import { PlaceHead } from '../../ui/place-head.tsx'
import { say } from '../../ui/said.tsx'
import { Empty, Failure, Waiting } from '../../ui/states.tsx'
import { answer, running, stopAnswers } from './answers.ts'
import { unreadBy, unreadKind } from './attach/unread.ts'
import { CodeDialog } from './code/code-dialog.tsx'
import { Composer } from './composer.tsx'
import { type Attachment, type Conversation, isComplete, type Message, pathOf, withMessage } from './conversation.ts'
import { Drawer } from './drawer.tsx'
import { exportTo } from './export.ts'
import { newId } from './ids.ts'
import { isOutdated, storeWaits } from './kept/store.ts'
import { branchOff, change, conversations, isAllRead, readLibrary, startConversation, storeProblem } from './library.ts'
import { ConversationList } from './list.tsx'
import { bestFirst, modelOf, models, modelsProblem, readModels } from './models.ts'
import { Pane } from './pane.tsx'

/** Conversations without a message yet, one for each side. */
const drafts: [Signal<Conversation>, Signal<Conversation>] = [startConversation(), startConversation()]

/** Where the settings lie above the conversation, not beside it. */
const coversChat = matchMedia('(max-width: 1199px)')

/** The chat: conversations on the left, one or two of them in the middle, settings on the right. */
export function Chat() {
  const [opensList, setOpensList] = useState(false)
  const [showsCode, setShowsCode] = useState(false)
  const { parts, query } = address.value
  const sides = [
    find(parts[0], 0),
    ...(query.beside === undefined ? [] : [find(query.beside === 'new' ? undefined : query.beside, 1)]),
  ]
  const open = sides.filter((side) => side !== undefined)
  const [first] = open
  const isBegun = first !== undefined && pathOf(first.value).length > 0
  const runs = [...running.value.values()].filter(({ conversation }) => open.includes(conversation))
  const stop = () => {
    if (stopAnswers(open.map((side) => side.value.id)) > 0) say(chatTexts.stopped)
  }
  const startNew = () => {
    drafts[0] = startConversation()
    drafts[1] = startConversation()
    go(linkTo('chat'))
    document.querySelector<HTMLElement>('.composer-text')?.focus()
  }
  useShortcuts({
    n: startNew,
    Escape: () => {
      if (query.settings !== undefined && runs.length === 0) return setQuery({ settings: undefined })
      return runs.length === 0 ? false : stop()
    },
  })
  useBack(opensList, () => setOpensList(false))
  useBack(query.settings !== undefined && first !== undefined && coversChat.matches, () => setQuery({ settings: undefined }))
  useEffect(() => void readLibrary([...parts, query.beside ?? '']), [])
  const send = (text: string, attachments: readonly Attachment[]) => {
    for (const side of open) ask(side, text, attachments)
    const [one, other] = open.map((side) => side.value.id)
    if (one !== undefined) go(linkTo('chat', [one], { ...query, beside: other }), parts.length === 0 ? 'replace' : 'push')
    // They have messages now, so the next new chat is another one.
    for (const [index, draft] of drafts.entries()) if (open.includes(draft)) drafts[index] = startConversation()
  }
  const toggle = (name: string, value: string) => setQuery({ [name]: query[name] === undefined ? value : undefined })
  return (
    <>
      <PlaceHead
        title={first?.value.title || chatTexts.title}
        {...(runs.length > 0 && { matters: `${runs.length} running` })}
        before={
          <IconButton
            kind="list-button"
            icon="menu"
            name={chatTexts.showList}
            aria-expanded={opensList}
            onClick={() => setOpensList(!opensList)}
          />
        }
      >
        <HeadButton name={chatTexts.code} icon="code" onClick={() => setShowsCode(true)} />
        <HeadButton
          name={chatTexts.exportOne}
          icon="down"
          onClick={() => {
            const all = open.map((side) => side.value)
            void exportTo('json', all)
          }}
        />
        <HeadButton
          name={chatTexts.beside}
          word={chatTexts.besideWord}
          icon="columns"
          isPressed={query.beside !== undefined}
          onClick={() =>
            toggle('beside', isBegun ? branchOff(first.value, undefined, chatTexts.compared(first.value.title)) : 'new')
          }
        />
        <HeadButton
          name={chatTexts.settings}
          icon="settings"
          isPressed={query.settings !== undefined}
          onClick={() => toggle('settings', 'open')}
        />
        <Button kind="primary" title={`${chatTexts.newChat} (n)`} onClick={startNew}>
          <icons.plus />
          <span class="head-word">{chatTexts.newChat}</span>
        </Button>
      </PlaceHead>
      <div class="chat" data-list={opensList ? '' : undefined}>
        <div class="list-room">
          <input
            type="search"
            class="field"
            data-filter
            aria-label={chatTexts.filter}
            placeholder={chatTexts.filter}
            value={query.filter ?? ''}
            onInput={(event) => setQuery({ filter: event.currentTarget.value })}
          />
          <ConversationList current={open.map((side) => side.value.id)} onPick={() => setOpensList(false)} />
        </div>
        <div class="chat-middle">
          <StoreLine />
          <Middle open={open} isMissing={sides.includes(undefined)} send={send} stop={stop} isRunning={runs.length > 0} />
        </div>
        {query.settings !== undefined && first !== undefined && (
          <Drawer
            conversation={open[query.settings === 'beside' ? 1 : 0] ?? first}
            model={modelOf(first.value.settings.model)}
            onClose={() => setQuery({ settings: undefined })}
          />
        )}
      </div>
      {showsCode && first !== undefined && (
        <CodeDialog
          conversation={first.value}
          model={modelOf(first.value.settings.model)?.id ?? ''}
          onClose={() => setShowsCode(false)}
        />
      )}
    </>
  )
}

/** Why conversations are not shown, or not kept. */
function StoreLine() {
  if (storeWaits.value !== undefined) return <Failure error={storeWaits.value} />
  if (isOutdated.value) return <Failure error={chatTexts.outdated} />
  return storeProblem.value === undefined ? null : <Failure error={chatTexts.noStore(storeProblem.value)} />
}

type MiddleProps = {
  readonly open: readonly Signal<Conversation>[]
  readonly isMissing: boolean
  readonly isRunning: boolean
  readonly send: (text: string, attachments: readonly Attachment[]) => void
  readonly stop: () => void
}

function Middle({ open, isMissing, isRunning, send, stop }: MiddleProps) {
  if (conversations.value === undefined || (isMissing && !isAllRead.value)) return <Waiting what="" />
  if (isMissing) {
    return (
      <Empty title={chatTexts.gone}>
        <p>{chatTexts.goneWhy}</p>
      </Empty>
    )
  }
  if (modelsProblem.value !== undefined && models.value === undefined) {
    return (
      <div class="place-body">
        <Failure error={modelsProblem.value} onRetry={() => void readModels()} />
      </div>
    )
  }
  if (models.value?.length === 0) {
    return (
      <Empty title={chatTexts.noModels}>
        <p>{chatTexts.noModelsWhy}</p>
        <Command text="dragoman load qwen3:8b" what="the command" />
      </Empty>
    )
  }
  const [first] = open
  return (
    <>
      <div class="panes">
        {open.map((side, index) => (
          <Boundary key={side.value.id} instead={(error) => <NotShown conversation={side.value} error={error} />}>
            <Pane
              conversation={side}
              onExample={(text) => send(text, [])}
              onClose={open.length > 1 ? () => go(linkTo('chat', otherThan(open, index))) : undefined}
            />
          </Boundary>
        ))}
      </div>
      <Composer
        draft={Object.keys(first?.value.messages ?? {}).length === 0 ? 'new' : (first?.value.id ?? 'new')}
        isRunning={isRunning}
        canSend={models.value !== undefined}
        isComplete={open.every(({ value }) => isComplete(value))}
        model={modelOf(first?.value.settings.model)}
        refusal={(attachments) =>
          unreadBy(
            open.flatMap(({ value }) => modelOf(value.settings.model) ?? []),
            attachments,
            bestFirst(models.value ?? []),
          )
        }
        onUse={(model, attachments) => {
          for (const side of open) {
            const { settings } = side.value
            const now = modelOf(settings.model)
            if (now !== undefined && unreadKind(now, attachments) !== undefined)
              change(side, { ...side.value, settings: { ...settings, model } })
          }
        }}
        onSend={send}
        onStop={stop}
      />
    </>
  )
}

/** Shown in place of a conversation whose view has failed. */
function NotShown({ conversation, error }: { readonly conversation: Conversation; readonly error: unknown }) {
  return (
    <section class="pane place-body" aria-label={conversation.title || chatTexts.untitled}>
      <Failure
        error={chatTexts.notShown(describe(error))}
        onRetry={() => void exportTo('json', [conversation])}
        action={chatTexts.exportOne}
      />
    </section>
  )
}

/** The remaining conversation when a side is closed; a draft has no address. */
function otherThan(open: readonly Signal<Conversation>[], index: number): readonly string[] {
  const id = open[1 - index]?.value.id
  return id !== undefined && conversations.value?.has(id) === true ? [id] : []
}

function find(id: string | undefined, side: 0 | 1): Signal<Conversation> | undefined {
  return id === undefined ? drafts[side] : conversations.value?.get(id)
}

/** Adds the written message, and starts the answer. */
function ask(conversation: Signal<Conversation>, text: string, attachments: readonly Attachment[]): void {
  const parent = pathOf(conversation.value).at(-1)?.id
  const message: Message = {
    id: newId(),
    role: 'user',
    text,
    atMs: Date.now(),
    ...(parent !== undefined && { parent }),
    ...(attachments.length > 0 && { attachments }),
  }
  change(conversation, withMessage(conversation.value, message))
  answer(conversation, message.id, modelOf(conversation.value.settings.model)?.id ?? '')
}

type HeadButtonProps = {
  readonly name: string
  readonly icon: IconName
  /** A shorter name, to be shown; it is in the name. */
  readonly word?: string
  readonly isPressed?: boolean
  readonly onClick: () => void
}

/** With its name where there is room. */
function HeadButton({ word, isPressed, ...rest }: HeadButtonProps) {
  return (
    <IconButton kind="head-button" aria-pressed={isPressed} {...rest}>
      <span class="head-name">{word ?? rest.name}</span>
    </IconButton>
  )
}
