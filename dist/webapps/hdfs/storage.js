// What the NameNode's JMX has of a storage mode, and where the JMX of each live DataNode is.
(function () {
  'use strict';

  var ROWS = {
    Mode: 'mode',
    Policy: 'how tiers are chosen',
    BlocksPlaced: 'blocks placed',
    BlocksElsewhere: 'of them with a replica on another tier than the first choice',
    BlocksRefused: 'blocks refused, as no persistent storage had room'
  };

  function ask(name, use) {
    $.getJSON('/jmx?qry=Hadoop:service=NameNode,name=' + name).done(function (answer) {
      use(answer.beans && answer.beans[0]);
    }).fail(function (request) {
      $('#state').text('The NameNode does not answer: ' + request.status + ' ' + request.statusText);
    });
  }

  ask('HowdahStorage', function (bean) {
    if (!bean) {
      $('#state').text('This NameNode has no storage mode: dfs.rdma.hhh.mode is not set.');
      return;
    }
    $('#state').remove();
    $.each(ROWS, function (key, label) {
      $('<tr>').append($('<th>').text(label), $('<td>').text(bean[key])).appendTo('#placement');
    });
    $('#decisions').text(bean.Decisions.join('\n'));
  });

  ask('NameNodeInfo', function (bean) {
    var secure = window.location.protocol === 'https:';
    $.each(bean ? JSON.parse(bean.LiveNodes) : {}, function (name, node) {
      var address = secure ? node.infoSecureAddr : node.infoAddr;
      var page = window.location.protocol + '//' + address + '/jmx?qry=Hadoop:service=DataNode,name=HowdahStorage-*';
      $('<li>').append($('<a>').attr('href', page).text(name)).appendTo('#datanodes');
    });
  });
}());
